// Sizes that depend on the input, as sympy writes them: "Symbol('s77', positive=True, integer=True)",
// "Mul(Integer(2), Symbol('s77'))", or the shorter "2*s77" of earlier versions.
#pragma once

#include <string>

#include "quench/type_info.h"

namespace quench {

// Numbers, symbols and their products; unknown for what a Dim cannot express (sums, quotients) or what is
// not such an expression.
Dim dim_of_expression(const std::string& expression);

}  // namespace quench
