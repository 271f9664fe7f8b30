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
std::string text_of(const std::vector<std::uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

void end_this_process(const std::string& message, bool is_of_interrupt) {
  if (is_of_interrupt) end_at_once("quench: " + message + "\n", kInterrupted);
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
  const char* word = failed_ && !agreed_ ? kLeftFailed : kLeftDone;
  say(interrupt_is_due() ? kLeftInterrupted : word);
  if (hosts()) wait_for_others_to_leave();
}

// What the first one knows vanishes with it, that it failed too. If it is interrupted meanwhile, all end.
void Watchdog::wait_for_others_to_leave() {
  SignsOfLife last(place_.rank, place_.size, kLooks * options_.silence_seconds);
  for (;;) {
    if (interrupt_is_due()) say(kLeftInterrupted);
    last.verdict(look());
    if (last.others_left()) return;
    std::this_thread::sleep_for(std::chrono::duration<double>(kRound / kLooks));
  }
}

void Watchdog::tell_of_interrupt() {
  say(kLeftInterrupted);
  if (hosts()) wait_for_others_to_leave();
  end_interrupted();
}

void Watchdog::say(const std::string& word) { store_->set(sign_of(place_.rank), bytes_of(word)); }

std::vector<std::string> Watchdog::look() {
  std::vector<std::string> keys, words;
  for (int rank = 0; rank < place_.size; ++rank) keys.push_back(sign_of(rank));
  for (const std::vector<std::uint8_t>& word : store_->multiGet(keys)) words.push_back(text_of(word));
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
      say(std::to_string(++rounds_));
      const Verdict verdict = look_for_verdict();
      if (verdict.empty()) continue;
      say(kLeftTold);
      if (hosts()) std::this_thread::sleep_for(std::chrono::duration<double>(kLinger));
      return conclude(verdict);
    }
  } catch (const std::exception&) {
    if (interrupt_is_due()) end_interrupted();  // there is nobody left to tell
    const std::string host = place_.launcher_hosts ? "the launcher" : name_of_process(0, place_.size);
    conclude({host + " has stopped (its connection is gone)"});
  }
}

// The first one to find it tells the others. It is read after the signs: whoever leaves because of it leaves when it is
// there.
Verdict Watchdog::look_for_verdict() {
  const std::vector<std::string> words = look();
  const std::string told = text_of(store_->get(kVerdict));
  if (!told.empty()) return unpacked(told);
  const Verdict found = signs_.verdict(words);
  if (!found.empty()) store_->set(kVerdict, bytes_of(packed(found)));
  return found;
}

// A machine that is gone leaves a connection on which no answer ever comes.
void Watchdog::watch_the_store() {
  int seen = 0, silent = 0;
  while (goes_on_after(kRound)) {
    silent = rounds_ == seen ? silent + 1 : 0;
    seen = rounds_;
    if (silent > options_.silence_seconds + kLinger)
      return conclude({concat("the meeting point at ", place_.address, ":", place_.port, " does not answer any more")});
  }
}

void Watchdog::conclude(const Verdict& verdict) {
  {
    const std::lock_guard lock(mutex_);
    if (ends_ || agreed_ || !verdict_.empty()) return;
    verdict_ = concat(verdict.what, "; this one stops too", options_.advice.empty() ? "" : ". ", options_.advice);
    changed_.notify_all();
  }
  options_.stop ? options_.stop(verdict_) : end_this_process(verdict_, verdict.is_of_interrupt);
}

std::string Watchdog::wait_for_verdict() {
  std::unique_lock lock(mutex_);
  const std::chrono::duration<double> longest(options_.silence_seconds + 3 * kRound + kLinger);
  changed_.wait_for(lock, longest, [&] { return !verdict_.empty(); });
  return verdict_;
}

}  // namespace quench
