// The fast loops of the CPU: pieces of memory given to threads. Which pieces are summed together never depends
// on the number of threads, so neither do the results.

#include <algorithm>
#include <vector>

#include "kernels/affine/table.h"
#include "kernels/parallel.h"
#include "kernels/simd/simd.h"

namespace quench {
namespace {

constexpr std::int64_t kGrain = 16384;   // elements that are worth a thread
constexpr std::int64_t kShortRun = 16;   // shorter runs are treated as channels of their own
constexpr std::int64_t kRowChunk = 256;  // rows whose sums are formed in float

// The facts of each channel, or of each place in a row where runs are short.
class Table {
 public:
  explicit Table(const AffineView& view) {
    repeat_ = view.channels > 1 && view.inner < kShortRun ? view.inner : 1;
    table_.channels = view.channels * repeat_;
    table_.inner = view.inner / repeat_;
    table_.divide = view.divide;
    const auto n = static_cast<std::size_t>(table_.channels);
    facts_.resize(5 * n);
    float* at = facts_.data();
    for (std::size_t c = 0; c < n; ++c) {
      const auto channel = static_cast<std::int64_t>(c) / repeat_;
      const Affine a = affine_at(view, channel);
      at[c] = a.scale;
      at[n + c] = a.inverse;
      at[2 * n + c] = a.steps.low;
      at[3 * n + c] = a.steps.high;
      at[4 * n + c] = view.zero_point[channel * view.zero_step];
    }
    table_.scale = at;
    table_.inverse = at + n;
    table_.low = at + 2 * n;
    table_.high = at + 3 * n;
    table_.zero_point = at + 4 * n;
  }
  const ChannelTable& operator*() const { return table_; }
  std::int64_t repeat() const { return repeat_; }

 private:
  ChannelTable table_;
  std::int64_t repeat_ = 1;
  std::vector<float> facts_;
};

// body(piece) on pieces of memory, in any order.
template <class Body>
void spread(std::int64_t count, const Body& body) {
  in_parallel((count + kChunk - 1) / kChunk, kGrain / kChunk, [&](std::int64_t first, std::int64_t last) {
    body(Piece{first * kChunk, std::min(count, last * kChunk)});
  });
}

using Totals = std::vector<double>;  // two per channel of the view

// Runs: each is cut into chunks of its own.
template <class Body>
Totals sum_runs(const AffineView& view, const Body& body) {
  const std::int64_t cuts = (view.inner + kChunk - 1) / kChunk, units = view.outer * view.channels * cuts;
  Totals parts(static_cast<std::size_t>(2 * units)), totals(static_cast<std::size_t>(2 * view.channels));
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / std::min(view.inner, kChunk));
  in_parallel(units, grain, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t unit = first; unit < last; ++unit) {
      const std::int64_t start = unit / cuts * view.inner, begin = start + unit % cuts * kChunk;
      const Piece piece{begin, std::min(start + view.inner, begin + kChunk)};
      body(piece, Sums{parts.data() + 2 * unit, nullptr, nullptr});
    }
  });
  for (std::int64_t unit = 0; unit < units; ++unit) {
    const std::int64_t c = unit / cuts % view.channels;
    for (int k = 0; k < 2; ++k) totals[2 * c + k] += parts[2 * unit + k];
  }
  return totals;
}

// Rows of channels: chunks of rows, each with a sum for each place of the row.
template <class Body>
Totals sum_rows(const AffineView& view, const Body& body) {
  const std::int64_t width = view.channels * view.inner, rows = view.outer;
  const std::int64_t height = std::clamp<std::int64_t>(16 * kChunk / width, 16, kRowChunk);
  const std::int64_t units = (rows + height - 1) / height;
  std::vector<float> parts(static_cast<std::size_t>(2 * units * width));
  in_parallel(units, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t unit = first; unit < last; ++unit) {
      float* sums = parts.data() + 2 * unit * width;
      body(Piece{unit * height * width, std::min(rows, (unit + 1) * height) * width},
           Sums{nullptr, sums, sums + width});
    }
  });
  Totals totals(static_cast<std::size_t>(2 * view.channels));
  for (std::int64_t part = 0; part < 2 * units; ++part)
    for (std::int64_t place = 0; place < width; ++place)
      totals[2 * (place / view.inner) + part % 2] += static_cast<double>(parts[part * width + place]);
  return totals;
}

template <class Body>
Totals sum(const AffineView& view, const Table& table, const Body& body) {
  if (size_of(view) == 0) return Totals(static_cast<std::size_t>(2 * view.channels));
  return (*table).inner == 1 && (*table).channels > 1 ? sum_rows(view, body) : sum_runs(view, body);
}

void fake_quantize(const AffineView& view, const float* x, float* y) {
  const Table t(view);
  spread(size_of(view), [&](Piece piece) { simd().fake_quantize(*t, piece, x, y); });
}

void codes(const AffineView& view, const float* x, std::int32_t* q) {
  const Table t(view);
  spread(size_of(view), [&](Piece piece) { simd().codes(*t, piece, x, q); });
}

void dequantize(const AffineView& view, const std::int32_t* q, float* y) {
  const Table t(view);
  spread(size_of(view), [&](Piece piece) { simd().dequantize(*t, piece, q, y); });
}

void masked(const AffineView& view, const float* x, float* y, bool* mask) {
  const Table t(view);
  spread(size_of(view), [&](Piece piece) { simd().masked(*t, piece, x, y, mask); });
}

void masked_gradient(std::int64_t count, const float* dy, const bool* mask, float* dx) {
  spread(count, [&](Piece piece) { simd().masked_gradient(piece, dy, mask, dx); });
}

void lsq_backward(const AffineView& view, const float* dy, const float* x, float* dx, float* ds, float* dz) {
  const Table t(view);
  const Totals totals = sum(view, t, [&](Piece piece, Sums to) { simd().lsq_backward(*t, piece, dy, x, dx, to); });
  for (std::int64_t c = 0; c < view.channels; ++c) {
    ds[c] = static_cast<float>(totals[2 * c]);
    dz[c] = static_cast<float>(-totals[2 * c + 1] * affine_at(view, c).scale);
  }
}

void dsq_backward(const AffineView& view, DsqShape shape, const float* dy, const float* x, float* dx) {
  const Table t(view);
  spread(size_of(view), [&](Piece piece) { simd().dsq_backward(*t, piece, shape, dy, x, dx); });
}

void pact_forward(const AffineView& view, ClipRange clip, const float* x, float* y) {
  const Table t(view);
  spread(size_of(view), [&](Piece piece) { simd().pact_forward(*t, piece, clip, x, y); });
}

void pact_backward(const AffineView& view, ClipRange clip, const float* dy, const float* x, float* dx, float* sums) {
  const Table t(view);
  const Totals totals =
      sum(view, t, [&](Piece piece, Sums to) { simd().pact_backward(*t, piece, clip, dy, x, dx, to); });
  for (int k = 0; k < 2; ++k) sums[k] = static_cast<float>(totals[k]);
}

void adaround_forward(const AffineView& view, const float* w, const float* alpha, float* y) {
  const Table t(view);
  spread(size_of(view), [&](Piece piece) { simd().adaround_forward(*t, piece, w, alpha, y); });
}

void adaround_backward(const AffineView& view, const float* dy, const float* w, const float* alpha, float* dalpha) {
  const Table t(view);
  spread(size_of(view), [&](Piece piece) { simd().adaround_backward(*t, piece, dy, w, alpha, dalpha); });
}

void qdrop_forward(const AffineView& view, const DropCoin& coin, const float* x, float* y) {
  const Table t(view);
  spread(size_of(view), [&](Piece piece) { simd().qdrop_forward(*t, piece, coin, x, y); });
}

void qdrop_backward(const AffineView& view, const DropCoin& coin, const float* dy, const float* x, float* dx,
                    float* ds) {
  const Table t(view);
  const Totals totals =
      sum(view, t, [&](Piece piece, Sums to) { simd().qdrop_backward(*t, piece, coin, dy, x, dx, to); });
  for (std::int64_t c = 0; c < view.channels; ++c) ds[c] = static_cast<float>(totals[2 * c]);
}

}  // namespace

const Kernels& cpu_kernels() {
  static const Kernels table = {fake_quantize,     codes,         dequantize,    masked,        masked_gradient,
                                lsq_backward,      dsq_backward,  pact_forward,  pact_backward, adaround_forward,
                                adaround_backward, qdrop_forward, qdrop_backward};
  return table;
}

}  // namespace quench
