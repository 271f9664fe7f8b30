// A calibrated graph as exporters see it: its quantizers, and what they make of constants.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "quant/reference.h"
#include "quench/quantizers.h"

namespace quench {

// The scheme, and the scales and zero points that the quantizer really uses.
QType qtype_of(const Node& quantizer);

// What every quantizer of a constant gives, in float, by the name of its output: rounded to its grid, by whatever
// algorithm. Those of int32 biases too.
std::map<std::string, at::Tensor> baked_constants(const Graph& graph);

// The codes of a baked constant; throws if it does not lie on the grid.
at::Tensor codes_of_baked(const Node& quantizer, const at::Tensor& baked);

// The value that a quantizer of a constant quantizes, under the name that it had in the float model.
std::string constant_name(const Node& quantizer);

// Of a bias in int32: its codes, and the scales s_x * s_w (float32; one, or one per channel).
at::Tensor bias_codes(const Node& bias_quantizer);
at::Tensor bias_scale(const Node& bias_quantizer);

// A 0-d or 1-d float tensor of the scales, and the zero points in the type that stores the codes.
at::Tensor scale_tensor(const QType& type, const std::vector<std::int64_t>& sizes);
at::Tensor zero_point_tensor(const QType& type, const std::vector<std::int64_t>& sizes);

}  // namespace quench
