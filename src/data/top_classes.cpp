#include "data/top_classes.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "quench/error.h"

namespace quench {
namespace {

// Strictly: of two equal ones neither is, so that the one that came first stays.
bool is_greater(float a, float b) { return std::isnan(a) ? !std::isnan(b) : a > b; }

std::vector<RankedClass> top_of(const float* row, std::int64_t classes, std::int64_t count) {
  std::vector<RankedClass> top;
  for (std::int64_t i = 0; i < classes; ++i) {
    const bool full = static_cast<std::int64_t>(top.size()) == count;
    if (full && !is_greater(row[i], top.back().logit)) continue;
    if (full) top.pop_back();
    const auto place =
        std::find_if(top.begin(), top.end(), [&](const RankedClass& other) { return is_greater(row[i], other.logit); });
    top.insert(place, {i, row[i]});
  }
  return top;
}

}  // namespace

std::vector<std::vector<RankedClass>> top_classes(const at::Tensor& logits, std::int64_t count) {
  QUENCH_CHECK(logits.dim() == 2, "classes are ranked along rows: the logits have the shape ", logits.sizes());
  QUENCH_CHECK(count > 0, "at least one class must be asked for, not ", count);
  const at::Tensor rows = logits.to(at::kCPU, at::kFloat).contiguous();
  const auto* data = rows.const_data_ptr<float>();
  std::vector<std::vector<RankedClass>> ranked;
  for (std::int64_t row = 0; row < rows.size(0); ++row)
    ranked.push_back(top_of(data + row * rows.size(1), rows.size(1), std::min(count, rows.size(1))));
  return ranked;
}

at::Tensor top_class(const at::Tensor& logits) {
  QUENCH_CHECK(logits.dim() > 0 && logits.size(-1) > 0, "there are no classes in logits of the shape ", logits.sizes());
  const at::Tensor flat = logits.reshape({-1, logits.size(-1)});
  at::Tensor found = at::empty({flat.size(0)}, at::kLong);
  auto* to = found.mutable_data_ptr<std::int64_t>();
  for (const auto& ranked : top_classes(flat, 1)) *to++ = ranked[0].index;
  return found.reshape(logits.sizes().slice(0, static_cast<std::size_t>(logits.dim() - 1)));
}

}  // namespace quench
