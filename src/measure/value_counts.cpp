#include "measure/value_counts.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "kernels/entries.h"
#include "quench/error.h"

namespace quench {
namespace {

constexpr int kBins = 96;

QScheme channels_of(const QScheme& scheme, int axis) {
  if (!scheme.per_tensor() || axis < 0) return scheme;
  QSchemeSpec spec = scheme.spec();
  spec.granularity = Granularity::kChannel;
  spec.axis = axis;
  return QScheme(spec);
}

// `values` has as many as `held`, which is empty at first.
void widen(std::vector<float>& held, const at::Tensor& values, bool up) {
  const at::Tensor flat = values.to(at::kFloat).contiguous();
  const auto* data = flat.const_data_ptr<float>();
  if (held.empty()) held.assign(data, data + flat.numel());
  for (std::size_t i = 0; i < held.size(); ++i) held[i] = up ? std::max(held[i], data[i]) : std::min(held[i], data[i]);
}

void add_counts(std::vector<std::int64_t>& counts, const at::Tensor& bins) {
  const at::Tensor found = at::bincount(bins, {}, kBins);
  const auto* data = found.const_data_ptr<std::int64_t>();
  for (int i = 0; i < kBins; ++i) counts[static_cast<std::size_t>(i)] += data[i];
}

}  // namespace

ValueCounts::ValueCounts(const Node& quantizer, int channel_axis)
    : spec_(fake_quant_spec(quantizer)),
      params_(qparams_of(quantizer)),
      by_channel_(channels_of(spec_.scheme, channel_axis)),
      has_channels_(!by_channel_.per_tensor()) {
  const QScheme& scheme = spec_.scheme;
  result_.value = quantizer.input(0)->name();
  result_.role = spec_.role;
  result_.scheme = scheme.text();
  result_.counts.assign(kBins, 0);
  result_.lost_counts.assign(kBins, 0);
  for (std::size_t i = 0; i < params_.scale.size(); ++i) {
    const float zero = static_cast<float>(params_.zero_point[i]), largest = scheme.largest();
    result_.low.push_back((scheme.is_int() ? static_cast<float>(scheme.qmin()) - zero : -largest) * params_.scale[i]);
    result_.high.push_back((scheme.is_int() ? static_cast<float>(scheme.qmax()) - zero : largest) * params_.scale[i]);
  }
}

void ValueCounts::see_range(const at::Tensor& given) {
  if (given.numel() == 0) return;
  const at::Tensor x = given.to(at::kCPU, at::kFloat);
  const double low = x.min().item<double>(), high = x.max().item<double>();
  QUENCH_CHECK(std::isfinite(low) && std::isfinite(high), "'", result_.value, "' holds a NaN or an infinity");
  result_.min = seen() ? std::min(result_.min, low) : low;
  result_.max = seen() ? std::max(result_.max, high) : high;
  result_.elements += x.numel();
  if (!has_channels_) return;
  const at::Tensor rows = entry_rows(laid_out(x, by_channel_), by_channel_);
  if (!result_.channel_min.empty() && rows.size(0) != static_cast<std::int64_t>(result_.channel_min.size()))
    return forget_channels();
  widen(result_.channel_min, to_scale_order(rows.amin(1), x, by_channel_), false);
  widen(result_.channel_max, to_scale_order(rows.amax(1), x, by_channel_), true);
}

// An axis that is longer in one batch than in another is none of channels.
void ValueCounts::forget_channels() {
  has_channels_ = false;
  result_.channel_min.clear();
  result_.channel_max.clear();
}

// A code beyond the scheme's before it is cut off, that is by more than the half step that rounds to its ends.
at::Tensor ValueCounts::is_lost(const at::Tensor& x) const {
  const QScheme& scheme = spec_.scheme;
  const auto spread = [&](const at::Tensor& values) {
    return spread_scales(values.reshape(scheme.scale_shape(x.sizes().vec())), x, scheme);
  };
  const at::Tensor code = x / spread(at::tensor(at::ArrayRef<float>(params_.scale)));
  if (!scheme.is_int()) return code.abs() > scheme.largest();
  const at::Tensor placed = code + spread(at::tensor(at::ArrayRef<std::int32_t>(params_.zero_point)).to(at::kFloat));
  return (placed < scheme.qmin() - 0.5).logical_or_(placed > scheme.qmax() + 0.5);
}

void ValueCounts::count(const at::Tensor& given) {
  if (given.numel() == 0) return;
  const at::Tensor x = given.to(at::kCPU, at::kFloat).contiguous();
  const double width = result_.max - result_.min, factor = width > 0 ? kBins / width : 0.0;
  const at::Tensor bins = x.to(at::kDouble).sub_(result_.min).mul_(factor).clamp_(0, kBins - 1).to(at::kLong).flatten();
  add_counts(result_.counts, bins);
  const at::Tensor lost = bins.masked_select(is_lost(x).flatten());
  add_counts(result_.lost_counts, lost);
  result_.lost += lost.numel();
}

}  // namespace quench
