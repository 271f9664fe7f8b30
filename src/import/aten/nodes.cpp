// AtenCall: the nodes that an entry of the table makes.
#include <ATen/ATen.h>

#include <algorithm>

#include "graph/tensor_types.h"
#include "import/aten/aten.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

void infer(Node& node) {
  const OpEntry* entry = OpRegistry::instance().find(node.op());
  if (entry && entry->shapes) entry->shapes(node);
}

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

}  // namespace

// name, name_2, name_3: free for a node and for its first value.
std::string AtenCall::free_name(const std::string& base) const {
  std::string name = base;
  for (int i = 2; graph_.find_node(name) || graph_.find_value(name); ++i) name = concat(base, "_", i);
  return name;
}

Node& AtenCall::make_node(const std::string& op, const Values& inputs, int results, const Attrs& attrs) {
  Node& node = graph_.add(op, free_name(name_), inputs, results);
  node.attrs = attrs;
  infer(node);
  return node;
}

Value& AtenCall::make(const std::string& op, const Values& inputs, const Attrs& attrs) {
  return make_node(op, inputs, 1, attrs).output();
}

Value& AtenCall::aux(const std::string& op, const Values& inputs, const Attrs& attrs) {
  Node& node = graph_.add(op, free_name(concat(name_, ".", lower_case(op))), inputs);
  node.attrs = attrs;
  infer(node);
  return node.output();
}

Value& AtenCall::cast(Value& value, DType dtype) {
  if (value.dtype() == dtype) return value;
  if (value.is_constant() && !value.is_parameter() && value.tensor().dim() == 0)
    return constant(value.tensor().detach().to(scalar_type_of(dtype)));
  return aux("Cast", {&value}, {{"to", static_cast<std::int64_t>(dtype)}});
}

Value& AtenCall::constant(const at::Tensor& tensor) {
  return graph_.add_constant(free_name(concat(name_, ".constant")), tensor);
}

Value& AtenCall::integers_constant(const std::vector<std::int64_t>& numbers) {
  return constant(integer_tensor(numbers));
}

Value& AtenCall::scalar(double number, DType dtype) {
  return constant(at::scalar_tensor(number, scalar_type_of(dtype)));
}

// One element, 1-D.
Value& AtenCall::int_value(const AtenInt& number) {
  if (number.is_number()) return integers_constant({number.number});
  Value* value = number.source;
  if (number.axis >= 0)
    value = &aux("Gather", {&aux("Shape", {value}), &integers_constant({number.axis})}, {{"axis", std::int64_t{0}}});
  else
    value = &aux("Reshape", {&cast(*value, DType::kInt64), &integers_constant({1})});
  if (number.times != 1) value = &aux("Mul", {value, &integers_constant({number.times})});
  if (number.over != 1) value = &aux("Div", {value, &integers_constant({number.over})});
  if (number.plus != 0) value = &aux("Add", {value, &integers_constant({number.plus})});
  return *value;
}

Value& AtenCall::shape_value(const std::vector<AtenInt>& sizes) {
  std::vector<std::int64_t> numbers;
  for (const AtenInt& size : sizes)
    if (size.is_number()) numbers.push_back(size.number);
  if (numbers.size() == sizes.size()) return integers_constant(numbers);
  if (sizes.size() == 1) return int_value(sizes[0]);
  Values parts;
  for (const AtenInt& size : sizes) parts.push_back(&int_value(size));
  return aux("Concat", parts, {{"axis", std::int64_t{0}}});
}

Value& AtenCall::reshape(Value& value, const std::vector<AtenInt>& sizes) {
  std::vector<AtenInt> shape = sizes;
  const bool infers = std::any_of(shape.begin(), shape.end(), [](const AtenInt& size) { return size.number == -1; });
  int computed = -1, count = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i].is_number()) continue;
    const bool copies = value.has_rank() && i < value.dims().size() && shape[i].dim.certainly_equal(value.dims()[i]);
    if (copies) {
      shape[i] = AtenInt(0);
    } else {
      computed = static_cast<int>(i);
      ++count;
    }
  }
  if (count == 1 && !infers) shape[static_cast<std::size_t>(computed)] = AtenInt(-1);
  return make("Reshape", {&value, &shape_value(shape)});
}

Value& AtenCall::transpose(Value& value, const std::vector<std::int64_t>& perm) {
  return aux("Transpose", {&value}, {{"perm", perm}});
}

std::vector<AtenInt> AtenCall::sizes_of(Value& value) const {
  std::vector<AtenInt> sizes;
  for (std::size_t i = 0; i < value.dims().size(); ++i) {
    const Dim& dim = value.dims()[i];
    AtenInt size(dim.is_number() ? dim.number() : 0);
    if (!dim.is_number()) {
      size.dim = dim;
      size.source = &value;
      size.axis = static_cast<int>(i);
    }
    sizes.push_back(size);
  }
  return sizes;
}

}  // namespace quench
