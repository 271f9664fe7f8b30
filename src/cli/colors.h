// Colours on a terminal: errors red, warnings yellow, headings bold. They are added to the text on its way out, so that
// nobody who writes text need know: "quench: error" and "WARNING" begin such lines, and a heading is a line above a
// line of dashes, or the first of a paragraph whose second is indented by two.
#pragma once

#include <iosfwd>
#include <memory>

#include "cli/command.h"

namespace quench {

// While it lives, what is written to the stream is coloured if its descriptor is a terminal and neither NO_COLOR
// (https://no-color.org) nor a dumb terminal forbid it, or as --color says. JSON is left as it is.
class ColoredStream {
 public:
  ColoredStream(std::ostream& stream, int descriptor, const CommonOptions& common);
  ~ColoredStream();
  ColoredStream(const ColoredStream&) = delete;
  ColoredStream& operator=(const ColoredStream&) = delete;

 private:
  class Filter;
  std::ostream& stream_;
  std::streambuf* behind_;
  std::unique_ptr<Filter> filter_;
};

}  // namespace quench
