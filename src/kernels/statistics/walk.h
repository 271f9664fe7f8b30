// How the statistics cut a laid-out tensor among threads. Which elements are summed together never depends on
// the number of threads.
#pragma once

#include <algorithm>

#include "kernels/layout.h"
#include "kernels/parallel.h"

namespace quench {

constexpr std::int64_t kPart = 32768;   // elements that are worth a thread
constexpr std::int64_t kShortest = 16;  // a shorter run is not worth a loop of its own

// Entries in runs: each lies in pieces of `inner`, cut into parts of at most kPart.
struct RunWalk {
  explicit RunWalk(const Layout& of) : layout(of) {
    cuts = (layout.inner + kPart - 1) / kPart;
    runs = layout.outer * layout.channels;
  }
  Layout layout;
  std::int64_t runs, cuts;
  std::int64_t units() const { return runs * cuts; }
  std::int64_t entry(std::int64_t unit) const { return unit / cuts % layout.channels; }

  // body(start, runs, length, unit): `runs` runs of this length at once, the first of them being unit `unit`.
  template <typename Body>
  void each(const Body& body) const {
    const std::int64_t inner = layout.inner;
    if (cuts == 1) {
      in_parallel(runs, std::max<std::int64_t>(1, kPart / std::max<std::int64_t>(inner, 1)),
                  [&](std::int64_t first, std::int64_t last) { body(first * inner, last - first, inner, first); });
      return;
    }
    in_parallel(units(), 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t unit = first; unit < last; ++unit) {
        const std::int64_t at = unit % cuts * kPart;
        body(unit / cuts * inner + at, 1, std::min(kPart, inner - at), unit);
      }
    });
  }
};

// Entries in rows: one after another, repeatedly. Narrow rows are taken several at a time.
struct RowWalk {
  static bool fits(const Layout& layout) { return layout.channels > 1 && layout.outer > 1 && layout.inner < kShortest; }
  explicit RowWalk(const Layout& of) : layout(of) {
    const std::int64_t row = layout.channels * layout.inner;
    width = row * std::max<std::int64_t>(1, 64 / row);
    rows = layout.numel() / width;
    tail = layout.numel() % width;
    height = std::max<std::int64_t>(64, kPart / width);
  }
  Layout layout;
  std::int64_t width, rows, tail, height;  // elements after the last whole row: tail
  std::int64_t units() const { return (rows + height - 1) / height + (tail > 0 ? 1 : 0); }
  std::int64_t entry(std::int64_t column) const { return column / layout.inner % layout.channels; }

  // body(start, rows, width, unit)
  template <typename Body>
  void each(const Body& body) const {
    in_parallel(units(), 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t unit = first; unit < last; ++unit) {
        const std::int64_t row = unit * height;
        if (row >= rows)
          body(rows * width, 1, tail, unit);
        else
          body(row * width, std::min(height, rows - row), width, unit);
      }
    });
  }
};

}  // namespace quench
