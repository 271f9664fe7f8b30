#include "import/trace/scope.h"

#include <ATen/ATen.h>

#include "quench/error.h"

namespace quench {
namespace {

// Constants up to this size are copied into bodies, where shape functions can read them (as onnx/graph.cpp does).
constexpr std::int64_t kMaxCopied = 1024;

bool is_copied(const Value& value) {
  return value.is_constant() && !value.is_parameter() && value.tensor().numel() <= kMaxCopied;
}

}  // namespace

Value& TraceScope::capture(Value& outer) {
  Value*& inner = inner_[&outer];
  if (inner) return *inner;
  const std::string name = graph.unique_name(outer.name());
  if (is_copied(outer)) {
    inner = &graph.add_constant(name, outer.tensor(), outer.dtype());
  } else {
    inner = &graph.add_input(name, outer.type());
    captured_.push_back(&outer);
  }
  names_.inherit(outer, *inner);
  return *inner;
}

AtenArg TraceScope::from_outside(const AtenArg& arg) {
  const auto integer = [&](AtenInt number) {
    if (number.source) number.source = &capture(*number.source);
    return number;
  };
  if (Value* const* value = std::get_if<Value*>(&arg)) return *value ? &capture(**value) : nullptr;
  if (const auto* number = std::get_if<AtenInt>(&arg)) return integer(*number);
  if (const auto* numbers = std::get_if<std::vector<AtenInt>>(&arg)) {
    std::vector<AtenInt> result;
    for (const AtenInt& number : *numbers) result.push_back(integer(number));
    return result;
  }
  if (const auto* values = std::get_if<Values>(&arg)) {
    Values result;
    for (Value* value : *values) result.push_back(value ? &capture(*value) : nullptr);
    return result;
  }
  return arg;
}

const AtenArg* TraceScope::find(int number) {
  if (const auto at = known_.find(number); at != known_.end()) return &at->second;
  const AtenArg* outside = outer_ ? outer_->find(number) : nullptr;
  if (!outside) return nullptr;
  return &(known_[number] = from_outside(*outside));
}

const AtenArg& TraceScope::known(int number) {
  const AtenArg* arg = find(number);
  QUENCH_CHECK(arg, "a result that has no counterpart in a graph is used");
  return *arg;
}

Value* TraceScope::find_tensor(int number) {
  const AtenArg* arg = find(number);
  Value* const* value = arg ? std::get_if<Value*>(arg) : nullptr;
  return value ? *value : nullptr;
}

}  // namespace quench
