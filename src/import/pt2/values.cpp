#include "import/pt2/values.h"

#include "quench/error.h"

namespace quench {
namespace {

using Kind = Pt2Item::Kind;

const Pt2Arg& input_of(const Pt2Node& node, std::size_t index) {
  QUENCH_CHECK(index < node.inputs.size(), "has ", node.inputs.size(), " arguments");
  return node.inputs[index].second;
}

}  // namespace

void Pt2Values::bind(const std::string& name, Value& value) {
  QUENCH_CHECK(tensors_.emplace(name, &value).second, "two tensors named '", name, "'");
}

void Pt2Values::bind(const std::string& name, const AtenInt& number) {
  QUENCH_CHECK(numbers_.emplace(name, number).second, "two numbers named '", name, "'");
}

Value& Pt2Values::tensor(const std::string& name) const {
  const auto at = tensors_.find(name);
  QUENCH_CHECK(at != tensors_.end(), "uses the tensor '", name, "', which nothing before it gives");
  return *at->second;
}

AtenArg Pt2Values::argument(const Pt2Arg& arg) const {
  return arg.is_list ? list_of(arg.items) : item_of(arg.items.at(0));
}

AtenArg Pt2Values::item_of(const Pt2Item& item) const {
  switch (item.kind) {
    case Kind::kNone: return std::monostate();
    case Kind::kFlag: return item.flag;
    case Kind::kInteger: return AtenInt(item.integer);
    case Kind::kReal: return item.real;
    case Kind::kText: return item.text;
    case Kind::kTensor: return &tensor(item.text);
    case Kind::kSymbol: {
      const auto at = numbers_.find(item.text);
      QUENCH_CHECK(at != numbers_.end(), "uses the number '", item.text, "', which nothing before it gives");
      return at->second;
    }
    case Kind::kGraph: fail("has the graph '", item.text, "' as an argument, which is not supported");
    case Kind::kOther: break;
  }
  fail("has an argument of the kind '", item.text, "', which is not supported");
}

AtenArg Pt2Values::list_of(const std::vector<Pt2Item>& items) const {
  std::vector<AtenInt> integers;
  std::vector<double> reals;
  Values tensors;
  for (const Pt2Item& item : items) {
    const AtenArg arg = item_of(item);
    if (const auto* integer = std::get_if<AtenInt>(&arg)) integers.push_back(*integer);
    if (const auto* flag = std::get_if<bool>(&arg)) integers.emplace_back(*flag ? 1 : 0);
    if (const auto* real = std::get_if<double>(&arg)) reals.push_back(*real);
    if (Value* const* value = std::get_if<Value*>(&arg)) tensors.push_back(*value);
    if (std::holds_alternative<std::monostate>(arg)) tensors.push_back(nullptr);
  }
  if (!items.empty() && integers.size() == items.size()) return integers;
  if (!items.empty() && reals.size() == items.size()) return reals;
  QUENCH_CHECK(tensors.size() == items.size(), "has a list of something other than tensors or numbers");
  return tensors;
}

Values Pt2Values::tensors_of(const Pt2Node& node) const {
  Values values;
  for (const auto& [name, arg] : node.inputs)
    for (const Pt2Item& item : arg.items)
      if (item.kind == Kind::kTensor) values.push_back(&tensor(item.text));
  return values;
}

Value& Pt2Values::tensor_input(const Pt2Node& node, std::size_t index) const {
  const AtenArg arg = argument(input_of(node, index));
  Value* const* value = std::get_if<Value*>(&arg);
  QUENCH_CHECK(value && *value, "argument ", index, " is not a tensor");
  return **value;
}

AtenInt Pt2Values::number_input(const Pt2Node& node, std::size_t index) const {
  const AtenArg arg = argument(input_of(node, index));
  const auto* number = std::get_if<AtenInt>(&arg);
  QUENCH_CHECK(number, "argument ", index, " is not an integer");
  return *number;
}

const TypeInfo& Pt2Values::type_of(const std::string& tensor) const {
  const auto at = program_.tensors.find(tensor);
  QUENCH_CHECK(at != program_.tensors.end(), "the program does not say what '", tensor, "' is");
  return at->second;
}

Dim Pt2Values::dim_of(const std::string& number) const {
  const auto at = program_.symbols.find(number);
  return at == program_.symbols.end() ? Dim() : at->second.dim;
}

}  // namespace quench
