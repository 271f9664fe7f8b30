#include "engine/integer/pad.h"

#include <algorithm>
#include <cstring>

#include "kernels/parallel.h"

namespace quench {
namespace {

// Rows of pixels: [items, outer rows, width, channels]; the outer spatial dims are walked as one.
struct Padding {
  Sizes in, begin;  // [N, C, spatial...]; by spatial dim
  Sizes out;
  std::uint8_t code;
};

class PadStep : public Task {
 public:
  PadStep(Padding padding, int x, int y) : p_(std::move(padding)), x_(x), y_(y) {}

  void run(Frame& frame) const override {
    const auto* x = frame.as<const std::uint8_t>(x_);
    auto* y = frame.as<std::uint8_t>(y_);
    const std::size_t last = p_.in.size() - 1;
    const std::int64_t channels = p_.in[1], width = p_.in[last] * channels, out_width = p_.out[last] * channels;
    std::int64_t rows = 1, items = p_.out[0];
    for (std::size_t d = 2; d < last; ++d) rows *= p_.out[d];
    in_parallel(items * rows, 64, [&](std::int64_t first, std::int64_t end) {
      for (std::int64_t at = first; at < end; ++at) {
        std::uint8_t* to = y + at * out_width;
        const std::int64_t from = source_row(at % rows);
        if (from < 0) {
          std::memset(to, p_.code, static_cast<std::size_t>(out_width));
          continue;
        }
        const std::int64_t left = p_.begin.back() * channels;
        std::memset(to, p_.code, static_cast<std::size_t>(left));
        const std::int64_t seen = std::min(width, out_width - left);  // windows may end before the image does
        std::memcpy(to + left, x + (at / rows * in_rows() + from) * width, static_cast<std::size_t>(seen));
        std::memset(to + left + seen, p_.code, static_cast<std::size_t>(out_width - left - seen));
      }
    });
  }

 private:
  std::int64_t in_rows() const {
    std::int64_t rows = 1;
    for (std::size_t d = 2; d + 1 < p_.in.size(); ++d) rows *= p_.in[d];
    return rows;
  }
  // The row of x that lies there; -1 in the padding.
  std::int64_t source_row(std::int64_t row) const {
    std::int64_t from = 0, step = 1;
    for (std::size_t d = p_.in.size() - 2; d >= 2; --d) {
      const std::int64_t at = row % p_.out[d] - p_.begin[d - 2];
      row /= p_.out[d];
      if (at < 0 || at >= p_.in[d]) return -1;
      from += at * step;
      step *= p_.in[d];
    }
    return from;
  }

  Padding p_;
  int x_, y_;
};

}  // namespace

int add_padding(Builder& builder, const Node& node, int x, const DnnlWindow& window, std::int32_t code) {
  const Sizes in = builder.layout(x).get_dims();
  Sizes out = in;
  for (std::size_t d = 2; d < in.size(); ++d) out[d] += window.begin[d - 2] + window.end[d - 2];
  const int y = builder.add_slot(channels_last_layout(out, builder.layout(x).get_data_type()));
  builder.add_step(std::make_unique<PadStep>(Padding{in, window.begin, out, static_cast<std::uint8_t>(code)}, x, y),
                   node, "own padding", {x}, {y});
  return y;
}

}  // namespace quench
