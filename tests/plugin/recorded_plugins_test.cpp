#include "plugin/recorded_plugins.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "quench/plugin.h"
#include "support/expect_error.h"

namespace quench {
namespace {

void fail_on(const Metadata& metadata, const std::string& message) {
  hinting_at_plugins(metadata, [&] { fail(message); });
}

TEST(RecordedPlugIns, ThatAreNotLoadedAreNamedInErrors) {
  const Metadata made = {{"quench.plugins", "chip.so (quench 1.2.3)\nmore.so (quench 1.2.3)"}};
  EXPECT_ERROR(fail_on(made, "unknown platform 'x'"), "unknown platform 'x'",
               "the model was made with the plug-in chip.so (quench 1.2.3) and more.so (quench 1.2.3), not loaded here",
               "load_plugin()");
  EXPECT_ERROR(fail_on(made, "any other"), "chip.so (quench 1.2.3)");
}

TEST(RecordedPlugIns, MayBeMissingInTheRecord) {
  EXPECT_ERROR(fail_on({}, "unknown observer 'x'"), "if it is a plug-in's, load that first (load_plugin())");
  try {
    fail_on({}, "the file is broken");
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "the file is broken");
  }
}

TEST(RecordedPlugIns, AreTheLoadedOnes) {
  const std::string folder = std::filesystem::path(std::getenv("QUENCH_PROGRAM")).parent_path().string();
  if (loaded_plugins().empty()) {
    Metadata metadata = {{"quench.plugins", "of an earlier process"}};
    record_plugins(metadata);
    EXPECT_EQ(metadata.at("quench.plugins"), "of an earlier process");
  }
  load_plugin(folder + "/test_plugin.so");
  Metadata metadata;
  record_plugins(metadata);
  EXPECT_EQ(metadata.at("quench.plugins"), "test_plugin.so (quench " QUENCH_VERSION ")");
  try {
    fail_on(metadata, "another error");
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "another error");  // it is loaded
  }
  forget_plugins(metadata);
  EXPECT_TRUE(metadata.empty());
}

}  // namespace
}  // namespace quench
