#include "quant/scale_rule.h"

#include "quant/rule_of.h"
#include "quench/error.h"

namespace quench {

ScaleRule rule_of(const QScheme& scheme) {
  ScaleRule rule;
  rule.qmin = scheme.is_int() ? static_cast<float>(scheme.qmin()) : -scheme.largest();
  rule.qmax = scheme.is_int() ? static_cast<float>(scheme.qmax()) : scheme.largest();
  rule.is_signed = scheme.is_signed();
  rule.symmetric = scheme.symmetric();
  rule.power_of_two = scheme.power_of_two_scale();
  return rule;
}

namespace {

std::string entry_text(std::size_t i, std::size_t count) { return count == 1 ? "" : concat(" of entry ", i); }

void add(QParams& params, const ScaleZero& pair) {
  params.scale.push_back(pair.scale);
  params.zero_point.push_back(static_cast<std::int32_t>(pair.zero_point));
}

}  // namespace

QParams qparams_of_range(const QScheme& scheme, const std::vector<float>& min, const std::vector<float>& max) {
  QUENCH_CHECK(min.size() == max.size(), "ranges need as many minima as maxima, not ", min.size(), " and ", max.size());
  const ScaleRule rule = rule_of(scheme);
  QParams params;
  for (std::size_t i = 0; i < min.size(); ++i) {
    QUENCH_CHECK(!(min[i] > max[i]), "the range", entry_text(i, min.size()), " was never observed");
    QUENCH_CHECK(std::isfinite(min[i]) && std::isfinite(max[i]), "the range", entry_text(i, min.size()), " is ", min[i],
                 " to ", max[i], ": it must be finite");
    const ScaleZero pair = scale_of_range(min[i], max[i], rule);
    QUENCH_CHECK(std::isfinite(pair.scale), "the range", entry_text(i, min.size()), " is ", min[i], " to ", max[i],
                 ": its scale does not fit float32");
    add(params, pair);
  }
  return params;
}

QParams qparams_of_scale(const QScheme& scheme, const std::vector<float>& scale, const std::vector<float>& min) {
  QUENCH_CHECK(scale.size() == min.size(), scale.size(), " scales but ", min.size(), " minima");
  const ScaleRule rule = rule_of(scheme);
  QParams params;
  for (std::size_t i = 0; i < scale.size(); ++i) {
    QUENCH_CHECK(std::isfinite(scale[i]) && std::isfinite(min[i]), "the scale", entry_text(i, scale.size()), " is ",
                 scale[i], " over a minimum of ", min[i], ": both must be finite");
    QUENCH_CHECK(scale[i] >= 0.0F, "the scale", entry_text(i, scale.size()), " is ", scale[i],
                 ": it must not be negative");
    const ScaleZero pair = finish_scale(scale[i], std::min(min[i], 0.0F), rule);
    QUENCH_CHECK(std::isfinite(pair.scale), "the scale", entry_text(i, scale.size()), " is ", scale[i],
                 ": as a power of two it does not fit float32");
    add(params, pair);
  }
  return params;
}

}  // namespace quench
