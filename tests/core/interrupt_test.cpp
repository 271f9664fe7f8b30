#include "core/interrupt.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "core/atomic_file.h"

namespace quench {
namespace {

void write_half_and_stop(const std::string& path, int signal) {
  end_cleanly_on_interrupt();
  AtomicFile file(path);
  file.write("half");
  std::raise(signal);
}

TEST(Interrupt, RemovesWhatWasBeingWrittenAndSaysSo) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("quench_interrupt_" + std::to_string(::getuid()));
  std::filesystem::create_directories(folder);
  EXPECT_EXIT(write_half_and_stop((folder / "a").string(), SIGINT), testing::ExitedWithCode(130),
              "quench: interrupted");
  EXPECT_EXIT(write_half_and_stop((folder / "a").string(), SIGTERM), testing::ExitedWithCode(143),
              "quench: interrupted");
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace quench
