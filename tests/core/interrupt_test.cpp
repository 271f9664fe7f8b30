#include "core/interrupt.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <optional>
#include <stdexcept>

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

void interrupt_postponed(int times) {
  end_cleanly_on_interrupt();
  PostponedInterrupt postponed;
  if (postponed.is_noted()) std::_Exit(1);
  for (int i = 0; i < times; ++i) std::raise(SIGINT);
  std::_Exit(postponed.is_noted() && noted_interrupt() == SIGINT ? 7 : 2);
}

// Ctrl-C, and what a launcher makes of it.
void interrupt_as_launched(int again) {
  end_cleanly_on_interrupt();
  PostponedInterrupt postponed;
  for (const int signal : {SIGINT, SIGTERM, again})
    if (signal != 0) std::raise(signal);
  std::_Exit(postponed.is_noted() && noted_interrupt() == SIGINT ? 7 : 2);
}

void interrupt_unheard() {
  end_cleanly_on_interrupt();
  {
    const PostponedInterrupt postponed;
    std::raise(SIGINT);
  }
  std::_Exit(3);
}

// Another process was interrupted too, and all end because of that one.
void interrupt_on_the_way_out() {
  end_cleanly_on_interrupt();
  try {
    const PostponedInterrupt postponed;
    std::raise(SIGINT);
    throw std::runtime_error("training was interrupted");
  } catch (const std::exception&) {
    std::_Exit(noted_interrupt() == SIGINT ? 7 : 2);
  }
}

TEST(Interrupt, IsNotedFirstWherePostponed) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(interrupt_postponed(1), testing::ExitedWithCode(7), "press Ctrl-C again to stop at once");
  EXPECT_EXIT(interrupt_postponed(2), testing::ExitedWithCode(130), "quench: interrupted");
  EXPECT_EXIT(interrupt_as_launched(0), testing::ExitedWithCode(7), "press Ctrl-C again to stop at once");
  EXPECT_EXIT(interrupt_as_launched(SIGINT), testing::ExitedWithCode(130), "quench: interrupted");
  EXPECT_EXIT(interrupt_on_the_way_out(), testing::ExitedWithCode(7), "press Ctrl-C again to stop at once");
  EXPECT_EXIT(interrupt_unheard(), testing::ExitedWithCode(130), "quench: interrupted");
}

// In one of several processes. Answered: the work ends itself.
void interrupt_watched(bool is_postponed, bool is_answered) {
  end_cleanly_on_interrupt();
  const WatchedInterrupt watched;
  {
    std::optional<PostponedInterrupt> postponed;
    if (is_postponed) postponed.emplace();
    std::raise(SIGINT);
    if (interrupt_is_due() == is_postponed) std::_Exit(1);
    if (is_answered && !postponed->is_noted()) std::_Exit(2);
  }
  std::_Exit(interrupt_is_due() ? 7 : 8);
}

void interrupt_unheard_to_the_end() {
  end_cleanly_on_interrupt();
  {
    const WatchedInterrupt watched;
    const PostponedInterrupt postponed;
    std::raise(SIGTERM);
  }
  std::_Exit(3);
}

void interrupt_watched_twice(int again) {
  end_cleanly_on_interrupt();
  const WatchedInterrupt watched;
  for (const int signal : {SIGINT, again}) std::raise(signal);
  std::_Exit(interrupt_is_due() ? 7 : 2);
}

TEST(Interrupt, IsDueWhereWatched) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(interrupt_watched(false, false), testing::ExitedWithCode(7), "^$");
  EXPECT_EXIT(interrupt_watched(true, false), testing::ExitedWithCode(7), "press Ctrl-C again to stop at once");
  EXPECT_EXIT(interrupt_watched(true, true), testing::ExitedWithCode(8), "press Ctrl-C again to stop at once");
  EXPECT_EXIT(interrupt_unheard_to_the_end(), testing::ExitedWithCode(143), "quench: interrupted");
  EXPECT_EXIT(interrupt_watched_twice(SIGTERM), testing::ExitedWithCode(7), "^$");  // of a launcher
  EXPECT_EXIT(interrupt_watched_twice(SIGINT), testing::ExitedWithCode(130), "quench: interrupted");
}

}  // namespace
}  // namespace quench
