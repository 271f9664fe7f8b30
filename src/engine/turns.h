// Who is next at each of several places, where batches that run side by side pass in order: batch 0 first, then 1 ...
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>

namespace quench {

class Turns {
 public:
  // Sleeps until every earlier batch has passed the place. False: given up, nobody may enter.
  bool wait(const void* place, std::int64_t batch);
  void pass(const void* place);
  // A batch has failed and will not come: from now on nobody waits, and nobody enters.
  void give_up();

 private:
  std::mutex mutex_;
  std::condition_variable passed_;
  std::map<const void*, std::int64_t> next_;  // by place
  bool given_up_ = false;
};

// A batch at a place, from when it is its turn. Without turns it is alone. An error there ends it for all.
class Turn {
 public:
  Turn(Turns* turns, const void* place, std::int64_t batch);
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  bool has_come() const { return come_; }

 private:
  Turns* turns_;
  const void* place_;
  bool come_ = true;
  int errors_;  // under way when it came
};

}  // namespace quench
