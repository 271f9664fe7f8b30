// Progress of long work: a bar on a terminal, a plain line every few seconds elsewhere, or nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>

namespace quench {

enum class ProgressStyle : std::uint8_t { kBar, kLines, kSilent };

// By what stderr is. `silent` (--json, --quiet) wins.
ProgressStyle progress_style(bool silent);

class Progress {
 public:
  using Clock = std::function<double()>;  // seconds, for tests

  // "evaluating: 640 of 10000 items, 512 items/s". `unit` is "items", "batches" ...
  Progress(std::ostream& out, ProgressStyle style, std::string what, std::string unit, Clock clock = {});
  ~Progress();  // ends a bar's line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // So much was done before, by a run that this one goes on from: it counts neither for the rate nor for what is left.
  void begin(std::int64_t done) { begun_at_ = done; }
  void show(std::int64_t done, std::int64_t total);
  void clear_line();  // for a line of other text; the next show() brings the bar back
  void limit_columns(std::size_t columns) { columns_ = columns; }  // instead of what the terminal has
  void rename(std::string what) { what_ = std::move(what); }       // the same work has come to another part

 private:
  std::string rate_and_rest(std::int64_t done, std::int64_t total, double seconds, const char* between) const;
  std::string line(std::int64_t done, std::int64_t total, double seconds) const;
  std::string bar(std::int64_t done, std::int64_t total, double seconds) const;

  std::ostream& out_;
  ProgressStyle style_;
  std::string what_, unit_;
  Clock clock_;
  double start_, last_shown_;
  std::size_t width_ = 0;    // of the bar's current line
  std::size_t columns_ = 0;  // 0: the terminal's
  std::int64_t begun_at_ = 0;
};

}  // namespace quench
