#include "e2e/pt2_reference.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include "graph/tensor_types.h"
#include "import/pt2/arguments.h"
#include "import/pt2/targets.h"
#include "quench/error.h"

namespace quench {
namespace {

using c10::IValue;
using Kind = Pt2Item::Kind;

class Machine {
 public:
  std::map<std::string, at::Tensor> tensors;

  void run(const Pt2Node& node) {
    if (is_assertion(node)) return;
    if (node.target.starts_with("_operator.")) return compute(node);
    const std::string kind = kind_of_target(node.target);
    if (kind == "aten::sym_size") {
      const at::Tensor x = value_of(node.inputs.at(0).second.items.at(0)).toTensor();
      return keep_number(node, x.size(value_of(node.inputs.at(1).second.items.at(0)).toInt()));
    }
    call(node, kind);
  }

 private:
  void keep_number(const Pt2Node& node, std::int64_t number) { numbers_[node.outputs.at(0).items.at(0).text] = number; }

  void compute(const Pt2Node& node) {
    const std::int64_t a = value_of(node.inputs.at(0).second.items.at(0)).toInt();
    const std::int64_t b = value_of(node.inputs.at(1).second.items.at(0)).toInt();
    const std::string op = node.target.substr(node.target.rfind('.') + 1);
    if (op == "add") return keep_number(node, a + b);
    if (op == "sub") return keep_number(node, a - b);
    if (op == "mul") return keep_number(node, a * b);
    QUENCH_CHECK(op == "floordiv" && a >= 0 && b > 0, "the reference does not compute ", node.target);
    keep_number(node, a / b);
  }

  void call(const Pt2Node& node, const std::string& kind) {
    const std::string overload = node.target.substr(node.target.rfind('.') + 1);
    const c10::OperatorHandle op =
        c10::Dispatcher::singleton().findSchemaOrThrow(kind.c_str(), overload == "default" ? "" : overload.c_str());
    torch::jit::Stack stack;
    for (const c10::Argument& argument : op.schema().arguments()) stack.push_back(argument_of(node, argument));
    op.callBoxed(stack);
    std::vector<at::Tensor> results;
    for (const IValue& result : stack) {
      if (result.isTensor()) results.push_back(result.toTensor());
      if (result.isTensorList()) results = result.toTensorVector();
    }
    std::size_t next = 0;
    for (const Pt2Arg& output : node.outputs)
      for (const Pt2Item& item : output.items)
        if (item.kind == Kind::kTensor) tensors[item.text] = results.at(next++);
  }

  IValue argument_of(const Pt2Node& node, const c10::Argument& argument) const {
    for (const auto& [name, arg] : node.inputs)
      if (name == argument.name()) return converted(arg, argument);
    QUENCH_CHECK(argument.default_value(), node.target, ": argument '", argument.name(), "' is absent");
    return *argument.default_value();
  }

  IValue converted(const Pt2Arg& arg, const c10::Argument& argument) const {
    const std::string& name = argument.name();
    if (name == "memory_format" || name == "layout" || name == "device" || name == "pin_memory") return IValue();
    if (name == "dtype" && arg.items.at(0).kind == Kind::kInteger)
      return static_cast<int>(scalar_type_of(pt2_dtype(arg.items[0].integer)));
    return arg.is_list ? list_of(arg.items, argument) : value_of(arg.items.at(0));
  }

  // An empty list has no elements that say what it is of.
  IValue list_of(const std::vector<Pt2Item>& items, const c10::Argument& argument) const {
    const std::string type = argument.type()->annotation_str();
    if (type.find("Tensor") != std::string::npos) {
      if (type.find("Optional[Tensor]") != std::string::npos) return optional_tensors(items);
      c10::List<at::Tensor> list;
      for (const Pt2Item& item : items) list.push_back(tensor(item.text));
      return list;
    }
    if (type.find("float") != std::string::npos) {
      c10::List<double> list;
      for (const Pt2Item& item : items)
        list.push_back(item.kind == Kind::kReal ? item.real : static_cast<double>(item.integer));
      return list;
    }
    c10::List<std::int64_t> list;
    for (const Pt2Item& item : items) list.push_back(value_of(item).toInt());
    return list;
  }

  IValue optional_tensors(const std::vector<Pt2Item>& items) const {
    c10::List<std::optional<at::Tensor>> list;
    for (const Pt2Item& item : items)
      list.push_back(item.kind == Kind::kTensor ? std::optional(tensor(item.text)) : std::nullopt);
    return list;
  }

  const at::Tensor& tensor(const std::string& name) const {
    const auto at = tensors.find(name);
    QUENCH_CHECK(at != tensors.end(), "the reference has no tensor '", name, "'");
    return at->second;
  }

  IValue value_of(const Pt2Item& item) const {
    switch (item.kind) {
      case Kind::kNone: return IValue();
      case Kind::kFlag: return item.flag;
      case Kind::kInteger: return item.integer;
      case Kind::kReal: return item.real;
      case Kind::kText: return item.text;
      case Kind::kTensor: return tensor(item.text);
      case Kind::kSymbol: return numbers_.at(item.text);
      default: fail("the reference takes no argument of the kind '", item.text, "'");
    }
  }

  std::map<std::string, std::int64_t> numbers_;
};

}  // namespace

std::map<std::string, at::Tensor> run_pt2_reference(const Pt2Program& program, Pt2Weights& weights,
                                                    const std::vector<at::Tensor>& inputs) {
  const at::NoGradGuard no_grad;
  Machine machine;
  std::size_t next = 0;
  for (const Pt2Input& input : program.inputs) {
    if (input.kind == Pt2Input::Kind::kIgnored) continue;
    const bool is_state = input.kind != Pt2Input::Kind::kUser;
    const bool is_constant =
        input.kind == Pt2Input::Kind::kConstant || (input.kind == Pt2Input::Kind::kBuffer && !input.persistent);
    machine.tensors[input.arg.text] = !is_state     ? inputs.at(next++)
                                      : is_constant ? weights.constant(input.name)
                                                    : weights.weight(input.name);
  }
  for (const Pt2Node& node : program.nodes) machine.run(node);
  return machine.tensors;
}

}  // namespace quench
