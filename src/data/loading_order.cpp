// The order of a Loader: Fisher-Yates on a counter-based generator, so that a seed means the same order on
// every machine and with every library version.
#include <algorithm>
#include <numeric>

#include "core/philox.h"
#include "quench/data.h"

namespace quench {
namespace {

// A number below `bound`, without a division. The bias is bound / 2^64.
std::uint64_t scale_down(std::uint64_t bits, std::uint64_t bound) {
  const std::uint64_t high = (bits >> 32) * bound, low = (bits & 0xFFFFFFFF) * bound;
  return (high + (low >> 32)) >> 32;  // exact for bounds below 2^32, more items than a data set has
}

// Whole batches, so that all parts together see the batches that one alone would.
std::vector<std::int64_t> part_of(const std::vector<std::int64_t>& order, const LoadOptions& options) {
  QUENCH_CHECK(options.part >= 0 && options.part < options.parts, "there is no part ", options.part, " of ",
               options.parts);
  const auto items = static_cast<std::int64_t>(order.size()), round = options.batch_size * options.parts;
  const std::int64_t end = options.drop_last ? items / round * round : items;
  std::vector<std::int64_t> part;
  for (std::int64_t begin = options.part * options.batch_size; begin < end; begin += round)
    part.insert(part.end(), order.begin() + begin, order.begin() + std::min(begin + options.batch_size, end));
  return part;
}

}  // namespace

std::vector<std::int64_t> loading_order(std::int64_t size, const LoadOptions& options) {
  QUENCH_CHECK(size < (std::int64_t{1} << 32), "a data set of ", size, " items is more than a loader takes");
  QUENCH_CHECK(options.offset >= 0 && options.offset <= size, "the loader cannot begin with item ", options.offset,
               " of ", size);
  std::vector<std::int64_t> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  if (options.shuffle) {
    for (std::size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[scale_down(random_bits(options.seed, i), i)]);
    }
  }
  order.erase(order.begin(), order.begin() + options.offset);
  return options.parts == 1 ? order : part_of(order, options);
}

}  // namespace quench
