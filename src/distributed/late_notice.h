// Says something if what it stands beside takes longer than expected.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace quench {

class LateNotice {
 public:
  // `say` is called from a thread of its own.
  LateNotice(double seconds, std::function<void()> say)
      : waiting_([this, seconds, say = std::move(say)] {
          std::unique_lock lock(mutex_);
          if (!changed_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return over_; })) say();
        }) {}
  ~LateNotice() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
      changed_.notify_all();
    }
    waiting_.join();
  }
  LateNotice(const LateNotice&) = delete;
  LateNotice& operator=(const LateNotice&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;  // guarded by the mutex
  std::thread waiting_;
};

}  // namespace quench
