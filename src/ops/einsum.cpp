// Einsum: Einstein's summation over named dims.
#include <ATen/ATen.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "ops/arguments.h"
#include "ops/shape_rules.h"
#include "quench/error.h"

namespace quench {
namespace {

std::string equation_of(const Node& node) {
  std::string equation = node.get_string("equation", "");
  QUENCH_CHECK(!equation.empty(), node.where(), ": attribute 'equation' is missing");
  std::erase_if(equation, [](unsigned char c) { return std::isspace(c); });
  return equation;
}

std::vector<RtValue> einsum(const Node& node, const Inputs& in, ExecContext&) {
  std::vector<at::Tensor> tensors;
  for (const RtValue& value : in) tensors.push_back(value.tensor());
  return {at::einsum(equation_of(node), tensors)};
}

// Labels of each input; an ellipsis is left to evaluation.
std::optional<Dims> einsum_dims(const Node& node) {
  const std::string equation = equation_of(node);
  if (equation.find('.') != std::string::npos) return std::nullopt;
  const std::size_t arrow = equation.find("->");
  const std::string left = equation.substr(0, arrow);
  std::map<char, Dim> dims;
  std::map<char, int> count;
  int slot = 0;
  std::optional<Dims> own = input_dims(node, slot);
  std::size_t at = 0;
  for (const char label : left) {
    if (label == ',') {
      own = input_dims(node, ++slot);
      at = 0;
      continue;
    }
    ++count[label];
    QUENCH_CHECK(!own || at < own->size(), node.where(), ": the equation '", equation, "' names more dims than input ",
                 slot, " has");
    const Dim dim = own ? (*own)[at] : Dim();
    ++at;
    if (dims[label].is_unknown() || (dims[label].is_number() && dims[label].number() == 1)) dims[label] = dim;
  }
  std::string right = arrow == std::string::npos ? "" : equation.substr(arrow + 2);
  if (arrow == std::string::npos)  // those that occur once, in order of name
    for (const auto& [label, times] : count)
      if (times == 1) right += label;
  Dims result;
  for (const char label : right) result.push_back(dims[label]);
  return result;
}

void einsum_shapes(Node& node) { set_type(node, 0, input_dtype(node, 0), einsum_dims(node)); }

int last_axis(const Node& node) {
  const std::optional<Dims> dims = input_dims(node, 1);
  return dims && !dims->empty() ? static_cast<int>(dims->size()) - 1 : 1;
}

OpTraits einsum_traits() {
  OpTraits traits;
  traits.weight_slot = 1;
  traits.weight_axis = last_axis;
  traits.channel_axis = -1;
  traits.parameter_slots = {0, 1};
  return traits;
}

}  // namespace

QUENCH_REGISTER_OP("Einsum", einsum, einsum_shapes, einsum_traits(), "sum of products over named dims")

}  // namespace quench
