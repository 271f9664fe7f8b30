#include "import/aten/aten.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "graph/tensor_types.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {

std::string AtenCall::where() const {
  const bool has_namespace = kind_.find("::") != std::string::npos;
  return concat(has_namespace ? "" : "aten::", kind_, " (at '", name_, "')");
}

void AtenCall::wrong(const std::string& arg, const char* wanted) const {
  fail(where(), ": argument '", arg, "' is not ", wanted);
}

const AtenArg& AtenCall::arg_of(const std::string& arg) const {
  static const AtenArg none;
  const auto at = args.find(arg);
  return at == args.end() ? none : at->second;
}

bool AtenCall::has(const std::string& arg) const { return !std::holds_alternative<std::monostate>(arg_of(arg)); }

Value* AtenCall::tensor_or_null(const std::string& arg) const {
  if (!has(arg)) return nullptr;
  Value* const* value = std::get_if<Value*>(&arg_of(arg));
  if (!value || !*value) wrong(arg, "a tensor");
  return *value;
}

Value& AtenCall::tensor(const std::string& arg) const {
  Value* value = tensor_or_null(arg);
  if (!value) wrong(arg, "given, but must be");
  return *value;
}

Values AtenCall::tensors(const std::string& arg) const {
  if (const auto* values = std::get_if<Values>(&arg_of(arg))) return *values;
  wrong(arg, "a list of tensors");
}

AtenInt AtenCall::dim_integer(const std::string& arg) const {
  const AtenArg& value = arg_of(arg);
  if (const auto* number = std::get_if<AtenInt>(&value)) return *number;
  if (const auto* flag = std::get_if<bool>(&value)) return AtenInt(*flag ? 1 : 0);
  if (Value* const* tensor = std::get_if<Value*>(&value)) {
    AtenInt result;
    result.source = *tensor;
    result.axis = -1;
    return result;
  }
  wrong(arg, "an integer");
}

std::vector<AtenInt> AtenCall::dim_integers(const std::string& arg) const {
  if (!has(arg)) return {};
  if (const auto* numbers = std::get_if<std::vector<AtenInt>>(&arg_of(arg))) return *numbers;
  if (const auto* values = std::get_if<Values>(&arg_of(arg)); values && values->empty()) return {};
  return {dim_integer(arg)};
}

std::int64_t AtenCall::integer(const std::string& arg) const {
  const AtenInt number = dim_integer(arg);
  QUENCH_CHECK(number.is_number(), where(), ": '", arg, "' depends on the shape of an input (", number.number,
               " for the examples); it must be the same for every input");
  return number.number;
}

std::int64_t AtenCall::integer(const std::string& arg, std::int64_t fallback) const {
  return has(arg) ? integer(arg) : fallback;
}

std::vector<std::int64_t> AtenCall::integers(const std::string& arg) const {
  std::vector<std::int64_t> result;
  for (const AtenInt& number : dim_integers(arg)) {
    QUENCH_CHECK(number.is_number(), where(), ": '", arg, "' depends on the shape of an input (", number.number,
                 " for the examples); it must be the same for every input");
    result.push_back(number.number);
  }
  return result;
}

double AtenCall::real(const std::string& arg, double fallback) const {
  if (!has(arg)) return fallback;
  if (const auto* number = std::get_if<double>(&arg_of(arg))) return *number;
  return static_cast<double>(integer(arg));
}

std::vector<double> AtenCall::reals(const std::string& arg) const {
  if (!has(arg)) return {};
  if (const auto* numbers = std::get_if<std::vector<double>>(&arg_of(arg))) return *numbers;
  const std::vector<std::int64_t> whole = integers(arg);
  return {whole.begin(), whole.end()};
}

bool AtenCall::flag(const std::string& arg, bool fallback) const {
  if (!has(arg)) return fallback;
  if (const auto* value = std::get_if<bool>(&arg_of(arg))) return *value;
  return integer(arg) != 0;
}

std::string AtenCall::text(const std::string& arg, const std::string& fallback) const {
  if (!has(arg)) return fallback;
  if (const auto* value = std::get_if<std::string>(&arg_of(arg))) return *value;
  wrong(arg, "a string");
}

Value& AtenCall::operand(const std::string& arg, DType dtype) {
  const AtenArg& value = arg_of(arg);
  if (Value* const* tensor = std::get_if<Value*>(&value)) return cast(**tensor, dtype);
  if (const auto* number = std::get_if<AtenInt>(&value)) {
    if (number->is_number()) return constant(at::scalar_tensor(number->number, scalar_type_of(dtype)));
    return cast(aux("Squeeze", {&int_value(*number)}), dtype);
  }
  return scalar(real(arg, 0.0), dtype);
}

int AtenCall::axis(const std::string& arg, int rank) const {
  const std::int64_t axis = integer(arg);
  const int span = std::max(rank, 1);  // LibTorch takes axis 0 and -1 of a scalar
  QUENCH_CHECK(axis >= -span && axis < span, where(), ": axis ", axis, " is out of range for rank ", rank);
  return static_cast<int>(axis < 0 ? axis + span : axis);
}

int AtenCall::axis(const std::string& arg, int rank, std::int64_t fallback) const {
  return has(arg) ? axis(arg, rank) : static_cast<int>(fallback < 0 ? fallback + rank : fallback);
}

std::vector<std::int64_t> AtenCall::axes(const std::string& arg, int rank) const {
  std::vector<std::int64_t> result = integers(arg);
  if (result.empty())
    for (int i = 0; i < rank; ++i) result.push_back(i);
  for (std::int64_t& axis : result) {
    QUENCH_CHECK(axis >= -rank && axis < rank, where(), ": axis ", axis, " is out of range for rank ", rank);
    if (axis < 0) axis += rank;
  }
  std::sort(result.begin(), result.end());
  return result;
}

Values map_aten_call(AtenCall& call) {
  const AtenEntry* entry = AtenRegistry::instance().find(call.kind());
  QUENCH_CHECK(entry, call.where(), " is not supported; wrap the part that uses it in quench::Leaf to keep it opaque");
  return with_context([&] { return concat("while mapping ", call.where()); }, [&] { return entry->map(call); });
}

}  // namespace quench
