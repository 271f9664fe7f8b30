#include "import/trace/arguments.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "graph/tensor_types.h"
#include "quench/error.h"

namespace quench {
namespace {

bool same(const TraceConstant& a, const TraceConstant& b) {
  return std::visit(
      [&](const auto& left) {
        using T = std::decay_t<decltype(left)>;
        if constexpr (std::is_same_v<T, TensorAttr>)
          return bit_equal(*left.tensor, *std::get<T>(b).tensor);
        else
          return left == std::get<T>(b);
      },
      a);
}

}  // namespace

AtenArg TraceArguments::read(TraceScope& scope, int number, std::size_t at) const {
  if (const auto constant = constants_.find(number); constant != constants_.end())
    return constant_argument(scope, constant->second, at);
  if (const auto list = lists_.find(number); list != lists_.end()) return list_argument(scope, list->second, at);
  return scope.known(number);
}

AtenArg TraceArguments::constant_argument(TraceScope& scope, std::size_t constant, std::size_t at) const {
  const TraceConstant& value = record_.traces[0].nodes[constant].constant;
  if (const auto* tensor = std::get_if<TensorAttr>(&value)) return constant_tensor(scope, *tensor, constant);
  if (std::holds_alternative<std::int64_t>(value)) return integer_argument(scope, constant, at);
  for (const Trace& trace : record_.traces)
    QUENCH_CHECK(same(value, trace.nodes[constant].constant),
                 "a number depends on the shape of the input in a way that is not a dim of some tensor");
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* reals = std::get_if<std::vector<double>>(&value)) return *reals;
  if (const auto* numbers = std::get_if<std::vector<std::int64_t>>(&value))
    return std::vector<AtenInt>(numbers->begin(), numbers->end());
  return std::monostate();
}

AtenArg TraceArguments::integer_argument(TraceScope& scope, std::size_t constant, std::size_t at) const {
  Numbers numbers;
  for (const Trace& trace : record_.traces) numbers.push_back(std::get<std::int64_t>(trace.nodes[constant].constant));
  if (std::all_of(numbers.begin(), numbers.end(), [&](auto number) { return number == numbers[0]; }))
    return AtenInt(numbers[0]);
  const std::optional<AtenInt> explained =
      dims_.explain(numbers, at, [&](int value) { return scope.find_tensor(value); });
  QUENCH_CHECK(explained, "the integer ", numbers[0], " becomes ", numbers[1], " and ", numbers[2],
               " for inputs of other sizes, which no dim of a tensor explains");
  return *explained;
}

// A tensor that is not an input: the module's own (known by its data), or one made outside the trace.
AtenArg TraceArguments::constant_tensor(TraceScope& scope, const TensorAttr& attr, std::size_t constant) const {
  const at::Tensor& tensor = *attr.tensor;
  for (std::size_t i = 0; i < record_.state.size(); ++i) {
    const at::Tensor& own = *record_.state[i].tensor.tensor;
    if (own.numel() > 0 && own.data_ptr() == tensor.data_ptr() && own.sizes() == tensor.sizes() &&
        own.strides() == tensor.strides() && own.scalar_type() == tensor.scalar_type())
      return scope.known(record_.traces[0].inputs[record_.inputs.size() + i]);
  }
  for (const Trace& trace : record_.traces)
    QUENCH_CHECK(same(attr, trace.nodes[constant].constant),
                 "a tensor that is made outside of the traced operators differs from run to run");
  Value*& value = scope.constants[constant];
  if (!value) value = &scope.graph.add_constant(scope.graph.unique_name("constant"), tensor.detach().clone());
  return value;
}

AtenArg TraceArguments::list_argument(TraceScope& scope, const std::vector<int>& elements, std::size_t at) const {
  std::vector<AtenInt> integers;
  std::vector<double> reals;
  Values tensors;
  for (const int element : elements) {
    const AtenArg arg = read(scope, element, at);
    if (const auto* integer = std::get_if<AtenInt>(&arg)) integers.push_back(*integer);
    if (const auto* real = std::get_if<double>(&arg)) reals.push_back(*real);
    if (Value* const* tensor = std::get_if<Value*>(&arg)) tensors.push_back(*tensor);
    if (std::holds_alternative<std::monostate>(arg)) tensors.push_back(nullptr);
  }
  if (!integers.empty() && integers.size() == elements.size()) return integers;
  if (!reals.empty() && reals.size() == elements.size()) return reals;
  QUENCH_CHECK(tensors.size() == elements.size(), "a list mixes tensors and numbers");
  return tensors;
}

}  // namespace quench
