#include "core/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ostream>

#include "quench/error.h"

namespace quench {
namespace {

constexpr double kBarSeconds = 0.1;
constexpr double kLineSeconds = 5.0;
constexpr std::int64_t kBarCells = 30;
constexpr std::size_t kFewestCells = 3;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string rate_text(double rate) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), rate < 10 ? "%.1f" : "%.0f", rate);
  return text.data();
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%lld:%02lld", static_cast<long long>(whole / 60),
                static_cast<long long>(whole % 60));
  return text.data();
}

std::size_t terminal_columns() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace

ProgressStyle progress_style(bool silent) {
  if (silent) return ProgressStyle::kSilent;
  return ::isatty(STDERR_FILENO) ? ProgressStyle::kBar : ProgressStyle::kLines;
}

Progress::Progress(std::ostream& out, ProgressStyle style, std::string what, std::string unit, Clock clock)
    : out_(out),
      style_(style),
      what_(std::move(what)),
      unit_(std::move(unit)),
      clock_(clock ? std::move(clock) : Clock(seconds_now)),
      start_(clock_()),
      last_shown_(start_) {}

Progress::~Progress() { clear_line(); }

void Progress::clear_line() {
  if (width_ > 0) out_ << "\r" << std::string(width_, ' ') << "\r" << std::flush;
  width_ = 0;
}

std::string Progress::rate_and_rest(std::int64_t done, std::int64_t total, double seconds, const char* between) const {
  const std::int64_t now = done - begun_at_;
  const double rate = seconds > 0 && now > 0 ? static_cast<double>(now) / seconds : 0.0;
  if (rate == 0) return "";
  const double left = static_cast<double>(std::max<std::int64_t>(total - done, 0)) / rate;
  return concat(between, rate_text(rate), " ", unit_, "/s", between, duration_text(left), " left");
}

std::string Progress::line(std::int64_t done, std::int64_t total, double seconds) const {
  return concat(what_, ": ", done, " of ", total, " ", unit_, rate_and_rest(done, total, seconds, ", "));
}

// On a narrow terminal with fewer cells; then without the bar, without rate and rest, without the name: a line that
// does not fit would be broken and never wiped.
std::string Progress::bar(std::int64_t done, std::int64_t total, double seconds) const {
  const std::string count = concat(done, "/", total), rest = rate_and_rest(done, total, seconds, "  ");
  const std::size_t room = std::max<std::size_t>(columns_ > 0 ? columns_ : terminal_columns(), 2) - 1;
  const std::size_t words = what_.size() + std::string(" [] ").size() + count.size() + rest.size();
  if (words + kFewestCells <= room) {
    const auto cells = std::min<std::int64_t>(static_cast<std::int64_t>(room - words), kBarCells);
    const std::int64_t full = total > 0 ? std::min(done, total) * cells / total : 0;
    return concat(what_, " [", std::string(static_cast<std::size_t>(full), '#'),
                  std::string(static_cast<std::size_t>(cells - full), '.'), "] ", count, rest);
  }
  for (const std::string& text : {concat(what_, " ", count, rest), concat(what_, " ", count), count})
    if (text.size() <= room) return text;
  return count.substr(0, room);
}

void Progress::show(std::int64_t done, std::int64_t total) {
  if (style_ == ProgressStyle::kSilent) return;
  const double now = clock_();
  const bool finished = done >= total;
  if (style_ == ProgressStyle::kLines) {
    if (now - last_shown_ < kLineSeconds || finished) return;  // the result itself follows at once
    out_ << line(done, total, now - start_) << std::endl;
  } else {
    if (width_ > 0 && now - last_shown_ < kBarSeconds && !finished) return;
    const std::string text = bar(done, total, now - start_);
    out_ << "\r" << text << std::string(width_ > text.size() ? width_ - text.size() : 0, ' ') << std::flush;
    width_ = text.size();
  }
  last_shown_ = now;
}

}  // namespace quench
