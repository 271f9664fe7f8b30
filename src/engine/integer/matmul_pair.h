// quench.QMatMul of two activations.
#pragma once

#include "engine/builder.h"
#include "ops/integer_form.h"

namespace quench {

bool build_matmul_pair(Builder& builder, const Node& node, const IntegerForm& form);

}  // namespace quench
