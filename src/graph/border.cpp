#include "graph/border.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "graph/tensor_types.h"

namespace quench {
namespace {

bool is_float_cast(const Node* node) {
  return node && node->op() == "Cast" && node->input(0) && is_floating(node->input(0)->dtype()) &&
         is_floating(node->output().dtype());
}

// The user is a Cast whose result leaves the model, and goes nowhere else.
bool is_border(const Value::Use& use) {
  return is_float_cast(use.node) && use.node->output().is_graph_output() && use.node->output().uses().empty();
}

}  // namespace

bool is_narrow_float(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBfloat16; }

RtValue in_type_of(const Value& input, const RtValue& value) {
  if (!value.is_tensor() || value.dtype() != DType::kFloat || !is_narrow_float(input.dtype())) return value;
  return {value.tensor().to(scalar_type_of(input.dtype())), input.dtype()};
}

bool is_model_input(const Value& value) {
  return value.is_input() || (is_float_cast(value.producer()) && value.producer()->input(0)->is_input());
}

std::vector<const Value*> values_of_input(const Value& input) {
  std::vector<const Value*> values = {&input};
  for (const Value::Use& use : input.uses())
    if (is_float_cast(use.node)) values.push_back(&use.node->output());
  return values;
}

bool is_model_output(const Value& value) {
  return value.is_graph_output() || std::any_of(value.uses().begin(), value.uses().end(), is_border);
}

const Value& source_of_output(const Value& output) {
  const Node* cast = output.producer();
  return is_float_cast(cast) && output.uses().empty() ? *cast->input(0) : output;
}

bool leaves_only(const Value& value) {
  return is_model_output(value) && std::all_of(value.uses().begin(), value.uses().end(), is_border);
}

}  // namespace quench
