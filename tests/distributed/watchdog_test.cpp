// What happens to the others when one process ends, in its own way or in none. Most of the time is spent waiting for
// signs of life that do not come, so all cases run at once: each is a part that the processes of one group play.
#include "distributed/watchdog.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <csignal>
#include <iostream>

#include "core/interrupt.h"
#include "quench/error.h"
#include "support/together.h"

namespace quench {
namespace {

void sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

ProcessOptions impatient() {
  ProcessOptions options;
  options.silence_seconds = 4;  // on a machine with far more processes than processors
  return options;
}

[[noreturn]] void add_up_forever(const Processes& processes) {
  std::raise(SIGPIPE);  // as Gloo causes it now and then when another one is dead
  std::cerr << "ready" << std::endl;
  for (;;) {
    at::Tensor x = at::ones({1000});
    processes.sum(x);
    sleep(0.002);
  }
}

void play_killed_in_a_loop() {
  ProcessOptions options;
  options.advice = "--resume goes on from the last checkpoint";
  add_up_forever(Processes(place_of_process(), options));
}

void play_host_killed() { add_up_forever(Processes(place_of_process(), impatient())); }

void play_interrupted() {
  end_cleanly_on_interrupt();
  ProcessOptions options = impatient();
  options.advice = "--resume goes on";
  add_up_forever(Processes(place_of_process(), options));
}

// One computes on its own, and Gloo tells it nothing; the others wait for it.
void play_waiting_for_another() {
  const Processes processes(place_of_process(), impatient());
  if (processes.rank() != 1) add_up_forever(processes);
  std::cerr << "ready" << std::endl;
  sleep(60);
}

void play_failing() {
  try {
    const Processes processes(place_of_process(), impatient());
    if (processes.rank() == 0) fail("no such file");
    add_up_forever(processes);
  } catch (const Error& error) {
    std::cerr << error.what() << std::endl;
    ::_exit(3);
  }
}

// With a stop of its own a program goes on, and what it waits for throws.
void play_handling_it() {
  ProcessOptions options = impatient();
  options.stop = [](const std::string& message) { std::cerr << "told: " << message << std::endl; };
  const Processes processes(place_of_process(), options);
  try {
    add_up_forever(processes);
  } catch (const Error& error) {
    std::cerr << "thrown: " << error.what() << std::endl;
    ::_exit(1);
  }
}

// One is done at once, one much later.
void play_done() {
  const Processes processes(place_of_process(), impatient());
  processes.barrier();
  sleep(processes.rank() == 2 ? 6.5 : 0);
}

// One is done and waits for the others, which is when it is interrupted.
void play_interrupted_at_the_end() {
  end_cleanly_on_interrupt();
  const Processes processes(place_of_process(), impatient());
  std::cerr << "ready" << std::endl;
  if (!processes.is_first()) sleep(60);
}

// The first one goes in the moment of the interrupt: there is nobody left to tell.
void play_all_interrupted() {
  end_cleanly_on_interrupt();
  const Processes processes(place_of_process(), impatient());
  const std::vector<std::string> ids = processes.gather(std::to_string(::getpid()));
  if (!processes.is_first()) {
    std::raise(SIGINT);
    ::kill(std::stoi(ids[0]), SIGKILL);
  }
  sleep(60);
}

// The first one leaves while the others still wait for it: a bug of the program, which must not hang.
void play_leaving_early() {
  const Processes processes(place_of_process(), impatient());
  if (processes.is_first()) return;
  try {
    add_up_forever(processes);
  } catch (const Error& error) {
    std::cerr << "thrown: " << error.what() << std::endl;
    ::_exit(1);
  }
}

struct Part {
  void (*play)();
  int count;
  int killed;  // -1: none
  int code;    // of the others
  std::string message;
  int signal = SIGKILL;
  int code_of_first = 0;  // where none is killed
};

const Part kParts[] = {
    {play_killed_in_a_loop, 2, 1, 1,
     "quench: error: rank 1 of 2 has stopped (no sign of life for 5 s); this one stops too. --resume goes on from "
     "the last checkpoint\n"},
    {play_waiting_for_another, 4, 2, 1, "rank 2 of 4 has stopped (no sign of life for 4 s); this one stops too\n"},
    {play_host_killed, 4, 0, 1, "rank 0 of 4 has stopped (its connection is gone); this one stops too\n"},
    {play_interrupted, 3, 1, 130, "quench: rank 1 of 3 was interrupted; this one stops too. --resume goes on\n",
     SIGINT},
    {play_interrupted, 2, 0, 130, "quench: rank 0 of 2 was interrupted; this one stops too. --resume goes on\n",
     SIGTERM},
    {play_interrupted_at_the_end, 3, 0, 130, "quench: rank 0 of 3 was interrupted; this one stops too\n", SIGINT},
    {play_all_interrupted, 2, -1, 130, "quench: interrupted\n", 0, -SIGKILL},
    {play_handling_it, 2, 1, 1, "thrown: rank 1 of 2 has stopped (no sign of life for 4 s)"},
    {play_failing, 3, -1, 1, "rank 0 of 3 has failed (its own message says why); this one stops too\n", 0, 3},
    {play_leaving_early, 2, -1, 1, "thrown: the connection to the other processes broke: "},
    {play_done, 3, -1, 0, ""},
};
constexpr const char* kPartPlayed = "QUENCH_TEST_PART";

std::unique_ptr<StartedTogether> start(std::size_t number) {
  ::setenv(kPartPlayed, std::to_string(number).c_str(), 1);
  auto processes = std::make_unique<StartedTogether>(kParts[number].count, this_test());
  ::unsetenv(kPartPlayed);
  return processes;
}

// If one is to be killed, that happens when all are at work.
void kill_one(const StartedTogether& processes, const Part& part) {
  if (part.killed < 0) return;
  for (int tries = 0; tries < 1000; ++tries) {
    int ready = 0;
    for (int rank = 0; rank < part.count; ++rank)
      ready += processes.error(static_cast<std::size_t>(rank)).find("ready") != std::string::npos ? 1 : 0;
    if (ready == part.count) break;
    sleep(0.02);
  }
  sleep(0.2);
  processes.kill(static_cast<std::size_t>(part.killed), part.signal);
}

void expect_end(StartedTogether& processes, const Part& part) {
  EXPECT_TRUE(processes.end_within(20)) << part.message;
  for (int rank = 0; rank < part.count; ++rank) {
    const std::string said = processes.error(static_cast<std::size_t>(rank));
    if (rank == part.killed) {
      if (part.signal != SIGKILL) EXPECT_EQ(processes.code(static_cast<std::size_t>(rank)), 128 + part.signal) << said;
      continue;
    }
    if (part.killed < 0 && rank == 0) {
      EXPECT_EQ(processes.code(0), part.code_of_first) << said;
      if (part.play == play_failing) EXPECT_NE(said.find("no such file"), std::string::npos) << said;
      continue;
    }
    EXPECT_EQ(processes.code(static_cast<std::size_t>(rank)), part.code) << said;
    EXPECT_NE(said.find(part.message), std::string::npos) << said;
    EXPECT_EQ(said.find("frame #"), std::string::npos) << "a stack is no message: " << said;
  }
}

TEST(Watchdog, OneThatStopsStopsTheOthersUnlessItIsDone) {
  if (const char* part = std::getenv(kPartPlayed)) return kParts[std::atoi(part)].play();
  std::vector<std::unique_ptr<StartedTogether>> all;
  for (std::size_t part = 0; part < std::size(kParts); ++part) all.push_back(start(part));
  for (std::size_t part = 0; part < std::size(kParts); ++part) kill_one(*all[part], kParts[part]);
  for (std::size_t part = 0; part < std::size(kParts); ++part) expect_end(*all[part], kParts[part]);
}

}  // namespace
}  // namespace quench
