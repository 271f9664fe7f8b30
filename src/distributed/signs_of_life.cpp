#include "distributed/signs_of_life.h"

#include "quench/error.h"

namespace quench {
namespace {

// Without a reason for the others to stop.
bool left_quietly(const std::string& word) { return word == kLeftDone || word == kLeftTold; }

// Ahead of a verdict: how the process that it is on left.
constexpr const char* kOfInterrupt = "interrupted: ";
constexpr const char* kOfFailure = "failed: ";

}  // namespace

std::string packed(const Verdict& verdict) {
  return verdict.empty() ? "" : (verdict.is_of_interrupt ? kOfInterrupt : kOfFailure) + verdict.what;
}

Verdict unpacked(const std::string& text) {
  if (text.empty()) return {};
  const std::string kind = text.starts_with(kOfInterrupt) ? kOfInterrupt : kOfFailure;
  return {text.substr(kind.size()), kind == kOfInterrupt};
}

SignsOfLife::SignsOfLife(int rank, int size, int patience)
    : rank_(rank),
      patience_(patience),
      words_(static_cast<std::size_t>(size)),
      silent_(static_cast<std::size_t>(size), 0) {}

Verdict SignsOfLife::verdict(const std::vector<std::string>& words) {
  const int size = static_cast<int>(words_.size());
  Verdict found;
  for (int rank = 0; rank < size; ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    silent_[at] = words[at] == words_[at] ? silent_[at] + 1 : 0;
    words_[at] = words[at];
    if (rank == rank_ || left_quietly(words[at]) || !found.empty()) continue;
    if (words[at] == kLeftFailed)
      found.what = name_of_process(rank, size) + " has failed (its own message says why)";
    else if (words[at] == kLeftInterrupted)
      found = {name_of_process(rank, size) + " was interrupted", /*is_of_interrupt=*/true};
    else if (silent_[at] >= patience_)
      found.what = concat(name_of_process(rank, size), " has stopped (no sign of life for ", patience_, " s)");
  }
  return found;
}

bool SignsOfLife::others_left() const {
  for (std::size_t at = 0; at < words_.size(); ++at) {
    const bool said_why = words_[at] == kLeftFailed || words_[at] == kLeftInterrupted;
    const bool left = left_quietly(words_[at]) || said_why || silent_[at] >= patience_;
    if (static_cast<int>(at) != rank_ && !left) return false;
  }
  return true;
}

std::string name_of_process(int rank, int size) { return concat("rank ", rank, " of ", size); }

}  // namespace quench
