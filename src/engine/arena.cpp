// Where slots lie: the largest first, each at the lowest offset that is free during its life.
#include <algorithm>
#include <numeric>

#include "engine/program.h"

namespace quench {
namespace {

constexpr std::int64_t kAlignment = 64;
constexpr std::int64_t kOverread = 64;  // our loops load whole vectors

struct Piece {
  std::int64_t begin, end;
};

std::int64_t bytes_of(const Slot& slot) {
  const auto bytes = static_cast<std::int64_t>(slot.layout.get_size()) + kOverread;
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

bool alive_together(const Slot& a, const Slot& b) { return a.first <= b.last && b.first <= a.last; }

std::int64_t lowest_gap(std::vector<Piece> taken, std::int64_t bytes) {
  std::sort(taken.begin(), taken.end(), [](const Piece& a, const Piece& b) { return a.begin < b.begin; });
  std::int64_t at = 0;
  for (const Piece& piece : taken) {
    if (piece.begin - at >= bytes) break;
    at = std::max(at, piece.end);
  }
  return at;
}

}  // namespace

std::size_t plan_arena(std::vector<Slot>& slots) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < slots.size(); ++i)
    if (slots[i].input < 0 && slots[i].alias_of < 0 && slots[i].first >= 0) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return bytes_of(slots[a]) > bytes_of(slots[b]); });
  std::int64_t total = 0;
  std::vector<std::size_t> placed;
  for (const std::size_t i : order) {
    std::vector<Piece> taken;
    for (const std::size_t other : placed)
      if (alive_together(slots[i], slots[other]))
        taken.push_back({slots[other].offset, slots[other].offset + bytes_of(slots[other])});
    slots[i].offset = lowest_gap(std::move(taken), bytes_of(slots[i]));
    total = std::max(total, slots[i].offset + bytes_of(slots[i]));
    placed.push_back(i);
  }
  return static_cast<std::size_t>(total);
}

}  // namespace quench
