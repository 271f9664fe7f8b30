#include "engine/turns.h"

#include <exception>

namespace quench {

bool Turns::wait(const void* place, std::int64_t batch) {
  std::unique_lock<std::mutex> lock(mutex_);
  passed_.wait(lock, [&] { return given_up_ || next_[place] == batch; });
  return !given_up_;
}

void Turns::pass(const void* place) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++next_[place];
  passed_.notify_all();
}

void Turns::give_up() {
  const std::lock_guard<std::mutex> lock(mutex_);
  given_up_ = true;
  passed_.notify_all();
}

Turn::Turn(Turns* turns, const void* place, std::int64_t batch)
    : turns_(turns), place_(place), errors_(std::uncaught_exceptions()) {
  if (turns_) come_ = turns_->wait(place, batch);
}

Turn::~Turn() {
  if (!turns_ || !come_) return;
  if (std::uncaught_exceptions() > errors_)
    turns_->give_up();
  else
    turns_->pass(place_);
}

}  // namespace quench
