#include "import/torchscript/constructs.h"

#include <ATen/ATen.h>
#include <ATen/core/Dict.h>
#include <torch/csrc/jit/ir/ir.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "import/torchscript/blocks.h"
#include "import/torchscript/numbers.h"
#include "quench/error.h"

namespace quench {
namespace {

namespace jit = torch::jit;
using Stack = std::vector<c10::IValue>;

Stack tuple(const jit::Node& node, const Stack& in) {
  const auto type = node.output()->type()->expect<c10::TupleType>();
  if (type->schema()) return {c10::ivalue::Tuple::createNamed(in, type)};
  return {c10::ivalue::Tuple::create(in)};
}

Stack elements_of(const jit::Node&, const Stack& in) { return in.at(0).toTupleRef().elements().vec(); }

void check_plain(const jit::Node& node, const c10::IValue& value, const c10::Type& type) {
  QUENCH_CHECK(!is_data_number(value, type), "a number that depends on data goes into a list or dict",
               place_in_source(node));
}

Stack list(const jit::Node& node, const Stack& in) {
  const c10::TypePtr type = node.output()->type()->expectRef<c10::ListType>().getElementType();
  c10::impl::GenericList result(type);
  for (const c10::IValue& element : in) {
    check_plain(node, element, *type);
    result.push_back(element);
  }
  return {result};
}

Stack unpacked_list(const jit::Node& node, const Stack& in) {
  const auto elements = in.at(0).toListRef();
  QUENCH_CHECK(elements.size() == node.outputs().size(), "the program takes ", node.outputs().size(),
               " elements from a list of ", elements.size(), place_in_source(node));
  return elements.vec();
}

Stack dict(const jit::Node& node, const Stack& in) {
  const auto& type = node.output()->type()->expectRef<c10::DictType>();
  c10::impl::GenericDict result(type.getKeyType(), type.getValueType());
  for (std::size_t i = 0; i + 1 < in.size(); i += 2) {
    check_plain(node, in[i], *type.getKeyType());
    check_plain(node, in[i + 1], *type.getValueType());
    result.insert_or_assign(in[i], in[i + 1]);
  }
  return {result};
}

Stack object(const jit::Node& node, const Stack&) {
  const auto type = node.output()->type()->expect<c10::ClassType>();
  return {c10::ivalue::Object::create(c10::StrongTypePtr(type->compilation_unit(), type), type->numAttributes())};
}

Stack attribute(const jit::Node& node, const Stack& in) {
  return {in.at(0).toObjectRef().getAttr(node.s(c10::attr::name))};
}

Stack set_attribute(const jit::Node& node, const Stack& in) {
  check_plain(node, in.at(1), *node.input(1)->type());
  in.at(0).toObject()->setAttr(node.s(c10::attr::name), in[1]);
  return {};
}

Stack is_instance(const jit::Node& node, const Stack& in) {
  check_plain(node, in.at(0), *node.input(0)->type());
  const c10::TypePtr type = in[0].type();
  const auto& wanted = node.tys(c10::attr::types);
  return {std::any_of(wanted.begin(), wanted.end(), [&](const auto& one) { return type->isSubtypeOf(*one); })};
}

Stack raise(const jit::Node& node, const Stack& in) {
  throw Raised(concat("the program raises an exception: ", in.at(0).isString() ? in[0].toStringRef() : "",
                      place_in_source(node)));
}

// `with torch.no_grad()`: gradients are off all the while.
Stack enter(const jit::Node& node, const Stack& in) {
  const std::string name = in.at(0).isObject() ? in[0].toObjectRef().name() : "";
  const std::size_t last = name.rfind('.') + 1;  // before it, there may be what LibTorch puts into names that clash
  static const std::set<std::string> kModes = {"no_grad", "enable_grad", "inference_mode"};
  const bool known = name.starts_with("__torch__.torch.autograd.grad_mode.") && kModes.contains(name.substr(last));
  QUENCH_CHECK(known, "'with' on ", name.empty() ? "this" : name, " is not supported", place_in_source(node));
  return Stack(node.outputs().size());
}

Stack nothing(const jit::Node&, const Stack&) { return {}; }

using Construct = Stack (*)(const jit::Node& node, const Stack& in);

const std::map<std::string, Construct>& constructs() {
  static const std::map<std::string, Construct> kConstructs = {{"prim::TupleConstruct", tuple},
                                                               {"prim::TupleUnpack", elements_of},
                                                               {"prim::ListConstruct", list},
                                                               {"prim::ListUnpack", unpacked_list},
                                                               {"prim::DictConstruct", dict},
                                                               {"prim::CreateObject", object},
                                                               {"prim::GetAttr", attribute},
                                                               {"prim::SetAttr", set_attribute},
                                                               {"prim::isinstance", is_instance},
                                                               {"prim::RaiseException", raise},
                                                               {"prim::Enter", enter},
                                                               {"prim::Exit", enter},
                                                               {"prim::Print", nothing},
                                                               {"aten::warn", nothing}};
  return kConstructs;
}

}  // namespace

bool run_construct(const jit::Node& node, std::vector<c10::IValue>& stack) {
  const auto at = constructs().find(node.kind().toQualString());
  if (at == constructs().end()) return false;
  stack = at->second(node, stack);
  return true;
}

}  // namespace quench
