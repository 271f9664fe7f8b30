// Optional values: at run time an optional is its element, or nothing.
#include <ATen/ATen.h>

#include "ops/shape_rules.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

bool is_given(const Inputs& in) { return !in.empty() && !in[0].is_none(); }

std::vector<RtValue> make_optional(const Node&, const Inputs& in, ExecContext&) {
  return {is_given(in) ? in[0] : RtValue()};
}

void optional_shape(Node& node) {
  TypeInfo element;
  if (node.input(0))
    element = node.input(0)->type();
  else if (const auto at = node.attrs.find("type"); at != node.attrs.end()) {
    const auto* type = std::get_if<TypeInfo>(&at->second);
    QUENCH_CHECK(type, node.where(), ": attribute 'type' is not a type");
    element = *type;
  }
  node.output().set_type(TypeInfo::optional(element));
}

std::vector<RtValue> has_element(const Node&, const Inputs& in, ExecContext&) {
  return {at::scalar_tensor(is_given(in), at::kBool)};
}

void has_element_shape(Node& node) { set_type(node, 0, DType::kBool, Dims{}); }

std::vector<RtValue> get_element(const Node&, const Inputs& in, ExecContext&) {
  QUENCH_CHECK(is_given(in), "the optional is empty");
  return {in[0]};
}

void get_element_shape(Node& node) {
  const Value* input = node.input(0);
  if (!input) return;
  const bool is_optional = input->type().kind == TypeInfo::Kind::kOptional;
  node.output().set_type(is_optional && input->type().element ? *input->type().element : input->type());
}

}  // namespace

QUENCH_REGISTER_OP("Optional", make_optional, optional_shape, {}, "a value that may be absent")
QUENCH_REGISTER_OP("OptionalHasElement", has_element, has_element_shape, {}, "whether a value is present")
QUENCH_REGISTER_OP("OptionalGetElement", get_element, get_element_shape, {}, "the value, which must be present")

}  // namespace quench
