#include "distributed/watchdog.h"

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <chrono>
#include <exception>

#include "core/exit_code.h"
#include "core/interrupt.h"
#include "quench/error.h"

namespace quench {
namespace {

constexpr double kRound = 1.0;   // seconds between two signs
constexpr int kLooks = 4;        // in a round, at what should not wait for long
constexpr double kLinger = 2.5;  // until the others have read what is about to vanish
constexpr const char* kVerdict = "verdict";

std::vector<std::uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

void end_this_process(const std::string& message, bool is_interrupted) {
  if (is_interrupted) end_at_once("quench: " + message + "\n", kInterruptedCode);
  end_at_once("quench: error: " + message + "\n", kUsersToMend);
}

}  // namespace

std::string sign_of(int rank) { return concat("alive/", rank); }

void give_first_sign(c10d::Store& store, const ProcessPlace& place) {
  if (place.is_first()) store.set(kVerdict, bytes_of(""));  // before its sign: whoever sees that one can read it
  store.set(sign_of(place.rank), bytes_of("0"));
}

Watchdog::Watchdog(std::shared_ptr<c10d::Store> store, const ProcessPlace& place, const ProcessOptions& options)
    : store_(std::move(store)),
      place_(place),
      options_(options),
      signs_(place.rank, place.size, options.silence_seconds),
      watching_([this] { watch(); }),
      watching_the_store_([this] { watch_the_store(); }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    changed_.notify_all();
  }
  watching_.join();
  watching_the_store_.join();
  try {
    leave();
  } catch (const std::exception&) {
    // Nobody listens any more.
  }
}

void Watchdog::leave() {
  store_->set(sign_of(place_.rank), bytes_of(failed_ && !agreed_ ? kLeftFailed : kLeftDone));
  if (hosts()) wait_for_others_to_leave(/*is_interrupted=*/false);
}

// What the first one knows vanishes with it, that it failed too.
void Watchdog::wait_for_others_to_leave(bool is_interrupted) {
  SignsOfLife last(place_.rank, place_.size, kLooks * options_.silence_seconds);
  for (;;) {
    last.verdict(look());
    if (last.others_left() || (interrupt_is_due() && !is_interrupted)) return;
    std::this_thread::sleep_for(std::chrono::duration<double>(kRound / kLooks));
  }
}

void Watchdog::tell_of_interrupt() {
  store_->set(sign_of(place_.rank), bytes_of(kLeftInterrupted));
  if (hosts()) wait_for_others_to_leave(/*is_interrupted=*/true);
  end_interrupted();
}

std::vector<std::string> Watchdog::look() {
  std::vector<std::string> keys, words;
  for (int rank = 0; rank < place_.size; ++rank) keys.push_back(sign_of(rank));
  for (const std::vector<std::uint8_t>& word : store_->multiGet(keys)) words.emplace_back(word.begin(), word.end());
  return words;
}

bool Watchdog::goes_on_after(double seconds) {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return ends_ || !verdict_.empty(); });
}

void Watchdog::watch() {
  try {
    for (int looks = 1; goes_on_after(kRound / kLooks); ++looks) {
      if (interrupt_is_due()) return tell_of_interrupt();
      if (looks % kLooks != 0) continue;
      store_->set(sign_of(place_.rank), bytes_of(std::to_string(++rounds_)));
      // The verdict is read after the signs: whoever leaves because of it leaves when it is there.
      const std::vector<std::string> words = look();
      const std::vector<std::uint8_t> told = store_->get(kVerdict);
      const std::string verdict = told.empty() ? signs_.verdict(words) : std::string(told.begin(), told.end());
      if (verdict.empty()) continue;
      if (told.empty()) store_->set(kVerdict, bytes_of(verdict));
      store_->set(sign_of(place_.rank), bytes_of(kLeftTold));
      if (hosts()) std::this_thread::sleep_for(std::chrono::duration<double>(kLinger));
      return conclude(verdict);
    }
  } catch (const std::exception&) {
    conclude(place_.launcher_hosts ? "the launcher has stopped (its connection is gone)"
                                   : name_of_process(0, place_.size) + " has stopped (its connection is gone)");
  }
}

// A machine that is gone leaves a connection on which no answer ever comes.
void Watchdog::watch_the_store() {
  int seen = 0, silent = 0;
  while (goes_on_after(kRound)) {
    silent = rounds_ == seen ? silent + 1 : 0;
    seen = rounds_;
    if (silent > options_.silence_seconds + kLinger)
      return conclude(concat("the meeting point at ", place_.address, ":", place_.port, " does not answer any more"));
  }
}

void Watchdog::conclude(const std::string& verdict) {
  {
    const std::lock_guard lock(mutex_);
    if (ends_ || !verdict_.empty()) return;
    verdict_ = concat(verdict, "; this one stops too", options_.advice.empty() ? "" : ". ", options_.advice);
    changed_.notify_all();
  }
  options_.stop ? options_.stop(verdict_) : end_this_process(verdict_, is_of_interrupt(verdict));
}

std::string Watchdog::wait_for_verdict() {
  std::unique_lock lock(mutex_);
  const std::chrono::duration<double> longest(options_.silence_seconds + 3 * kRound + kLinger);
  changed_.wait_for(lock, longest, [&] { return !verdict_.empty(); });
  return verdict_;
}

}  // namespace quench
