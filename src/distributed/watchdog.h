// Gives a sign of life once a second and looks at those of the others, at the meeting point of a group. When one of
// them is dead this process stops too, whatever it waits for; when this one is interrupted, it tells the others.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/interrupt.h"
#include "distributed/signs_of_life.h"
#include "quench/distributed.h"

namespace c10d {
class Store;
}

namespace quench {

// Puts the first sign there: a process whose sign is there has come.
void give_first_sign(c10d::Store& store, const ProcessPlace& place);
std::string sign_of(int rank);  // its key

class Watchdog {
 public:
  // All processes have come. `store` is a connection of its own, which blocks nobody else.
  Watchdog(std::shared_ptr<c10d::Store> store, const ProcessPlace& place, const ProcessOptions& options);
  // Tells the others how this process ends. The one whose end would take the meeting point away waits for the others.
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  void set_failed() { failed_ = true; }
  void set_agreed() { agreed_ = true; }  // all processes stop: however this one ends, that is no news
  // What is known to have happened to another process, or "" if nothing is found for as long as a dead one would stay
  // unnoticed.
  std::string wait_for_verdict();

 private:
  void say(const std::string& word);
  std::vector<std::string> look();  // at all signs
  void watch();                     // runs in a thread
  void watch_the_store();           // runs in a thread: whether the first one gets answers
  bool goes_on_after(double seconds);
  Verdict look_for_verdict();
  void conclude(const Verdict& verdict);
  void leave();
  void wait_for_others_to_leave();
  void tell_of_interrupt();
  bool hosts() const { return place_.is_first() && !place_.launcher_hosts; }

  const WatchedInterrupt interrupt_;
  const std::shared_ptr<c10d::Store> store_;
  const ProcessPlace place_;
  const ProcessOptions options_;
  SignsOfLife signs_;
  std::atomic<int> rounds_ = 0;
  std::atomic<bool> failed_ = false, agreed_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;    // guarded by the mutex
  std::string verdict_;  // guarded by the mutex
  std::thread watching_, watching_the_store_;
};

}  // namespace quench
