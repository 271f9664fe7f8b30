// QType: what the codes of a tensor mean.
#pragma once

#include "quench/quant.h"

namespace quench {

struct QType {
  QScheme scheme;
  QParams params;
  bool operator==(const QType&) const = default;
};

}  // namespace quench
