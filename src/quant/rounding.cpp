#include "quant/rounding.h"

#include <ATen/ATen.h>

#include <vector>

#include "quench/registry.h"

namespace quench {

const char* name_of(Rounding rounding) {
  switch (rounding) {
    case Rounding::kHalfEven: return "half_even";
    case Rounding::kHalfUpNegative: return "half_up_negative";
    case Rounding::kHalfUp: return "half_up";
    case Rounding::kHalfAway: return "half_away";
  }
  return "";
}

Rounding rounding_from_name(const std::string& name) {
  std::vector<std::string> names;
  for (const Rounding rounding :
       {Rounding::kHalfAway, Rounding::kHalfEven, Rounding::kHalfUp, Rounding::kHalfUpNegative}) {
    if (name == name_of(rounding)) return rounding;
    names.emplace_back(name_of(rounding));
  }
  fail_unknown_name("rounding rule", name, names);
}

// Line by line the scalar one.
at::Tensor round_by(const at::Tensor& v, Rounding rounding) {
  const at::Tensor even = at::round(v), beyond = v - even;
  switch (rounding) {
    case Rounding::kHalfEven: return even;
    case Rounding::kHalfUpNegative: return at::where((beyond == 0.5) & (v < 0), even + 1, even);
    case Rounding::kHalfUp: return at::where(beyond == 0.5, even + 1, even);
    case Rounding::kHalfAway: {
      const at::Tensor up = at::where((beyond == 0.5) & (v > 0), even + 1, even);
      return at::where((beyond == -0.5) & (v < 0), even - 1, up);
    }
  }
  return even;
}

}  // namespace quench
