// The arithmetic of the scale rule for a scheme.
#pragma once

#include "quant/scale_rule.h"
#include "quench/quant.h"

namespace quench {

ScaleRule rule_of(const QScheme& scheme);

}  // namespace quench
