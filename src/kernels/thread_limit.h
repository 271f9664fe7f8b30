// Fewer threads for a while.
#pragma once

namespace quench {

// How many threads oneDNN and our loops see in this thread while it lives; a kernel that is made meanwhile is made for
// that many.
class ThreadLimit {
 public:
  explicit ThreadLimit(int threads);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  int before_;
};

}  // namespace quench
