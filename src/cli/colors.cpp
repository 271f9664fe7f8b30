#include "cli/colors.h"

#include <unistd.h>

#include <cstdlib>
#include <ostream>
#include <streambuf>
#include <string_view>

namespace quench {
namespace {

constexpr char kRed[] = "\x1b[1;31m", kYellow[] = "\x1b[1;33m", kBold[] = "\x1b[1m", kPlain[] = "\x1b[0m";

struct Marker {
  std::string_view text;
  const char* color;
};
constexpr Marker kMarkers[] = {{"quench: error", kRed}, {"quench: warning", kYellow}, {"WARNING", kYellow}};

bool terminal_takes_colors(int descriptor) {
  const char* no = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  if (no && *no) return false;
  return terminal && std::string_view(terminal) != "dumb" && ::isatty(descriptor);
}

std::string_view line_at(std::string_view text, std::size_t at) {
  return at >= text.size() ? "" : text.substr(at, text.find('\n', at) - at);
}

bool is_rule(std::string_view line) {
  return line.starts_with("--") && line.find_first_not_of("- ") == std::string_view::npos;
}

bool is_indented_by_two(std::string_view line) { return line.size() > 2 && line.starts_with("  ") && line[2] != ' '; }

}  // namespace

// Each write is looked at by itself: nothing is held back, and what is written in pieces is at worst not coloured.
class ColoredStream::Filter : public std::streambuf {
 public:
  Filter(std::streambuf& behind, int descriptor, const CommonOptions& common)
      : behind_(behind),
        terminal_(terminal_takes_colors(descriptor)),
        is_output_(descriptor == STDOUT_FILENO),
        common_(common) {}

 protected:
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    const std::string painted = paint({text, static_cast<std::size_t>(size)});
    return behind_.sputn(painted.data(), static_cast<std::streamsize>(painted.size())) ==
                   static_cast<std::streamsize>(painted.size())
               ? size
               : 0;
  }
  int_type overflow(int_type c) override {
    if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
    const char one = traits_type::to_char_type(c);
    return xsputn(&one, 1) == 1 ? c : traits_type::eof();
  }
  int sync() override { return behind_.pubsync(); }

 private:
  // Asked at each write: --color is known only when the command line has been read.
  bool wanted() const {
    if (common_.color == "never" || (is_output_ && common_.json)) return false;
    return common_.color == "always" || terminal_;
  }

  std::string paint(std::string_view text) {
    if (!wanted()) return std::string(text);
    std::string painted;
    for (std::size_t at = 0; at < text.size();) {
      const std::string_view line = line_at(text, at);
      at += line.size();
      const bool ends = at < text.size();
      painted += starts_line_ ? paint_line(line, line_at(text, at + 1)) : std::string(line);
      if (ends) painted += text[at++];
      after_blank_ = ends && starts_line_ && line.empty();
      starts_line_ = ends || line.ends_with('\r');
    }
    return painted;
  }

  std::string paint_line(std::string_view line, std::string_view next) const {
    for (const Marker& marker : kMarkers)
      if (line.starts_with(marker.text))
        return marker.color + std::string(marker.text) + kPlain + std::string(line.substr(marker.text.size()));
    const bool heads = is_rule(next) || (after_blank_ && is_indented_by_two(next) && !line.starts_with(' '));
    return is_output_ && !line.empty() && heads ? kBold + std::string(line) + kPlain : std::string(line);
  }

  std::streambuf& behind_;
  bool terminal_, is_output_;
  const CommonOptions& common_;
  bool starts_line_ = true, after_blank_ = true;
};

ColoredStream::ColoredStream(std::ostream& stream, int descriptor, const CommonOptions& common)
    : stream_(stream), behind_(stream.rdbuf()), filter_(std::make_unique<Filter>(*behind_, descriptor, common)) {
  stream_.rdbuf(filter_.get());
}

ColoredStream::~ColoredStream() { stream_.rdbuf(behind_); }

}  // namespace quench
