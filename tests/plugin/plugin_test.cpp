#include "quench/plugin.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "quench/observer.h"
#include "quench/pass.h"
#include "quench/platform.h"
#include "support/expect_error.h"

namespace quench {
namespace {

namespace fs = std::filesystem;

// Plug-ins are made beside the program.
std::string plugin(const std::string& name) {
  return (fs::path(std::getenv("QUENCH_PROGRAM")).parent_path() / name).string();
}

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class PlugIn : public testing::Test {
 protected:
  PlugIn() {
    std::string pattern = (fs::temp_directory_path() / "quench_plugin_XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~PlugIn() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return (folder_ / name).string();
  }
  // The test plug-in with every occurrence of a text replaced by another of the same length.
  std::string patched(const std::string& from, const std::string& to) const {
    std::string bytes = bytes_of(plugin("test_plugin.so"));
    EXPECT_EQ(from.size(), to.size());
    EXPECT_NE(bytes.find(from), std::string::npos) << from;
    for (std::size_t at = 0; (at = bytes.find(from, at)) != std::string::npos; at += to.size())
      bytes.replace(at, from.size(), to);
    return write("patched.so", bytes);
  }

  fs::path folder_;
};

TEST_F(PlugIn, ThatIsNoneIsRefused) {
  EXPECT_ERROR(load_plugin("/no/such/chip.so"), "'/no/such/chip.so' does not exist", "while loading the plug-in");
  EXPECT_ERROR(load_plugin(folder_.string()), "cannot be read");
  EXPECT_ERROR(load_plugin(write("short.so",
                                 "\x7f"
                                 "ELF")),
               "too short for a shared library");
  EXPECT_ERROR(load_plugin(write("text.so", std::string(200, 'x'))), "is not a shared library");
  EXPECT_ERROR(load_plugin(plugin("libquench.so")), "no tag of a quench plug-in", "quench_add_plugin()");
  std::string narrow = bytes_of(plugin("test_plugin.so"));
  narrow[4] = 1;  // ELFCLASS32
  EXPECT_ERROR(load_plugin(write("narrow.so", narrow)), "is a 32-bit file", "64 bits");
  EXPECT_ERROR(load_plugin(write("cut.so", bytes_of(plugin("test_plugin.so")).substr(0, 4096))), "too short for");
}

// Before any of its code runs: what it would have registered is not there.
TEST_F(PlugIn, BuiltWithSomethingElseIsRefusedBeforeItRuns) {
  EXPECT_ERROR(load_plugin(patched("quench: " QUENCH_VERSION, "quench: 7.7.7")), "built for another quench",
               "quench 7.7.7 (here " QUENCH_VERSION ")", "build it again");
  EXPECT_ERROR(load_plugin(patched("LibTorch: 2.", "LibTorch: 9.")), "LibTorch 9.", "(here 2.");
  EXPECT_ERROR(load_plugin(patched("CXX11_ABI=1", "CXX11_ABI=0")), "C++ library libstdc++ CXX11_ABI=0",
               "(here libstdc++ CXX11_ABI=1)");
  EXPECT_ERROR(load_plugin(patched("LibTorch: ", "LibToast: ")), "LibTorch unknown");
  EXPECT_EQ(ObserverRegistry::instance().find("abs_max"), nullptr);
  EXPECT_TRUE(loaded_plugins().empty());
}

TEST_F(PlugIn, TakingANameThatExistsIsRefusedAsAWhole) {
  for (int again = 0; again < 2; ++again)
    EXPECT_ERROR(load_plugin(plugin("clashing_plugin.so")), "the observer 'min_max' exists already", "min_max.cpp",
                 "another name", "while loading the plug-in");
  EXPECT_EQ(PassRegistry::instance().find("of_a_clashing_plugin"), nullptr);
  EXPECT_TRUE(loaded_plugins().empty());
}

TEST_F(PlugIn, RegisteringANameTwiceIsRefusedAsAWhole) {
  EXPECT_ERROR(load_plugin(plugin("doubled_plugin.so")), "registers the pass 'of_a_doubled_plugin' twice");
  EXPECT_EQ(PassRegistry::instance().find("of_a_doubled_plugin"), nullptr);
}

TEST_F(PlugIn, RegistersWhatItAddsOnce) {
  load_plugin(plugin("test_plugin.so"));
  load_plugin(plugin("../") + fs::path(plugin("x")).parent_path().filename().string() + "/test_plugin.so");
  ASSERT_EQ(loaded_plugins().size(), 1U);
  EXPECT_EQ(find_platform("toy_chip").activation.observer, "abs_max");
  const auto& observers = ObserverRegistry::instance().entries();
  EXPECT_EQ(plugin_of(observers.at("abs_max").file), "test_plugin.so");
  EXPECT_EQ(plugin_of(observers.at("min_max").file), "");
  // A copy of it has the same names.
  EXPECT_ERROR(load_plugin(write("copy.so", bytes_of(plugin("test_plugin.so")))), "exists already",
               "in the plug-in test_plugin.so");
}

}  // namespace
}  // namespace quench
