// Tensors made from nothing: zeros, full, arange ... -> a constant, or Expand and Range where a size
// depends on an input.
#include <ATen/ATen.h>

#include <algorithm>

#include "graph/tensor_types.h"
#include "import/aten/aten.h"
#include "quench/error.h"

namespace quench {
namespace {

bool fixed(const std::vector<AtenInt>& sizes) {
  return std::all_of(sizes.begin(), sizes.end(), [](const AtenInt& size) { return size.is_number(); });
}

Value& filled(AtenCall& call, const std::vector<AtenInt>& sizes, Value& fill) {
  if (fixed(sizes) && fill.is_constant()) {
    std::vector<std::int64_t> numbers;
    for (const AtenInt& size : sizes) numbers.push_back(size.number);
    return call.constant(fill.tensor().detach().expand(numbers).contiguous());
  }
  return call.make("Expand", {&fill, &call.shape_value(sizes)});
}

// zeros, ones, empty (whose elements may be anything, so zeros are fine), and their new_ and _like forms.
Values map_constant_fill(AtenCall& call) {
  const double number = call.kind().find("ones") == std::string::npos ? 0.0 : 1.0;
  const bool like = call.kind().ends_with("_like");
  const auto sizes = like ? call.sizes_of(call.tensor("self")) : call.dim_integers("size");
  return {&filled(call, sizes, call.scalar(number, call.dtype()))};
}

Values map_scalar_tensor(AtenCall& call) { return {&call.operand("s", call.dtype())}; }

Values map_full(AtenCall& call) {
  const bool like = call.kind().ends_with("_like");
  const auto sizes = like ? call.sizes_of(call.tensor("self")) : call.dim_integers("size");
  return {&filled(call, sizes, call.operand("fill_value", call.dtype()))};
}

// x.fill_(v), x.zero_()
Values map_fill(AtenCall& call) {
  Value& fill = call.kind() == "zero" ? call.scalar(0.0, call.dtype()) : call.operand("value", call.dtype());
  return {&filled(call, call.sizes_of(call.tensor("self")), fill)};
}

Values map_copy(AtenCall& call) {
  Value& source = call.operand("src", call.dtype());
  return {&call.make("Expand", {&source, &call.shape_value(call.sizes_of(call.tensor("self")))})};
}

Values map_arange(AtenCall& call) {
  const bool has_start = call.args.contains("start");
  const auto is_fixed = [&](const std::string& arg) {
    const auto* number = call.args.contains(arg) ? std::get_if<AtenInt>(&call.args.at(arg)) : nullptr;
    return !number || number->is_number();
  };
  if (is_fixed("start") && is_fixed("end") && is_fixed("step")) {
    const double start = has_start ? call.real("start", 0.0) : 0.0;
    return {&call.constant(at::arange(start, call.real("end", 0.0), call.real("step", 1.0),
                                      at::TensorOptions().dtype(scalar_type_of(call.dtype()))))};
  }
  Value& start = has_start ? call.operand("start", call.dtype()) : call.scalar(0.0, call.dtype());
  Value& step = call.has("step") ? call.operand("step", call.dtype()) : call.scalar(1.0, call.dtype());
  return {&call.make("Range", {&start, &call.operand("end", call.dtype()), &step})};
}

Values map_eye(AtenCall& call) {
  const std::int64_t rows = call.integer("n"), columns = call.integer("m", rows);
  return {&call.constant(at::eye(rows, columns, at::TensorOptions().dtype(scalar_type_of(call.dtype()))))};
}

Values map_linspace(AtenCall& call) {
  return {&call.constant(at::linspace(call.real("start", 0.0), call.real("end", 0.0), call.integer("steps"),
                                      at::TensorOptions().dtype(scalar_type_of(call.dtype()))))};
}

}  // namespace

QUENCH_REGISTER_ATEN("zeros", map_constant_fill, "a constant; Expand")
QUENCH_REGISTER_ATEN("ones", map_constant_fill, "a constant; Expand")
QUENCH_REGISTER_ATEN("empty", map_constant_fill, "a constant; Expand")
QUENCH_REGISTER_ATEN("empty_strided", map_constant_fill, "a constant; Expand")
QUENCH_REGISTER_ATEN("new_zeros", map_constant_fill, "a constant; Expand")
QUENCH_REGISTER_ATEN("new_ones", map_constant_fill, "a constant; Expand")
QUENCH_REGISTER_ATEN("new_empty", map_constant_fill, "a constant; Expand")
QUENCH_REGISTER_ATEN("zeros_like", map_constant_fill, "a constant; Expand")
QUENCH_REGISTER_ATEN("ones_like", map_constant_fill, "a constant; Expand")
QUENCH_REGISTER_ATEN("empty_like", map_constant_fill, "a constant; Expand")
QUENCH_REGISTER_ATEN("scalar_tensor", map_scalar_tensor, "a constant")
QUENCH_REGISTER_ATEN("full", map_full, "a constant; Expand")
QUENCH_REGISTER_ATEN("new_full", map_full, "a constant; Expand")
QUENCH_REGISTER_ATEN("full_like", map_full, "a constant; Expand")
QUENCH_REGISTER_ATEN("fill", map_fill, "a constant; Expand")
QUENCH_REGISTER_ATEN("zero", map_fill, "a constant; Expand")
QUENCH_REGISTER_ATEN("copy", map_copy, "Expand")
QUENCH_REGISTER_ATEN("arange", map_arange, "a constant; Range")
QUENCH_REGISTER_ATEN("eye", map_eye, "a constant")
QUENCH_REGISTER_ATEN("linspace", map_linspace, "a constant")

}  // namespace quench
