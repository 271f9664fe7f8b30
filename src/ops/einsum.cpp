// Einsum: Einstein's summation over named dims.
#include <ATen/ATen.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "ops/arguments.h"
#include "ops/macs.h"
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

// The dims that an ellipsis stands for: labels that are not letters, counted from the right, so that they broadcast.
std::string ellipsis_labels(std::size_t count) {
  std::string labels;
  while (count > 0) labels += static_cast<char>('0' + --count);
  return labels;
}

// The equation with labels instead of its ellipses; nothing if a rank is not known.
std::optional<std::string> without_ellipses(const Node& node) {
  const std::string equation = equation_of(node);
  const std::size_t arrow = std::min(equation.find("->"), equation.size());
  std::string result, term;
  std::size_t longest = 0;
  int slot = 0;
  for (std::size_t at = 0; at <= arrow; ++at) {
    if (at < arrow && equation[at] != ',') {
      term += equation[at];
      continue;
    }
    if (const std::size_t dots = term.find("..."); dots != std::string::npos) {
      const std::optional<Dims> dims = input_dims(node, slot);
      const std::size_t named = term.size() - 3;
      if (!dims || dims->size() < named || dims->size() - named > 9) return std::nullopt;
      longest = std::max(longest, dims->size() - named);
      term.replace(dots, 3, ellipsis_labels(dims->size() - named));
    }
    result += (slot++ == 0 ? "" : ",") + term;
    term.clear();
  }
  std::string right = equation.substr(arrow);
  if (const std::size_t dots = right.find("..."); dots != std::string::npos)
    right.replace(dots, 3, ellipsis_labels(longest));
  return result + right;
}

// What an equation without an arrow gives: the ellipsis, then the labels that occur once, in order of name.
std::string implied_output(const std::map<char, int>& count) {
  std::string labels;
  for (auto each = count.rbegin(); each != count.rend(); ++each)
    if (std::isdigit(static_cast<unsigned char>(each->first))) labels += each->first;
  for (const auto& [label, times] : count)
    if (times == 1 && std::isalpha(static_cast<unsigned char>(label))) labels += label;
  return labels;
}

std::optional<Dims> einsum_dims(const Node& node) {
  const std::optional<std::string> spelled = without_ellipses(node);
  if (!spelled) return std::nullopt;
  const std::string& equation = *spelled;
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
  const std::string right = arrow == std::string::npos ? implied_output(count) : equation.substr(arrow + 2);
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
  traits.macs = unknown_macs;
  return traits;
}

}  // namespace

QUENCH_REGISTER_OP("Einsum", einsum, einsum_shapes, einsum_traits(), "sum of products over named dims")

}  // namespace quench
