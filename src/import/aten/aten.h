// The table from LibTorch's operators ("aten::add") to ours, shared by everything that imports from
// LibTorch. An entry sees one call through a small neutral face: named arguments in, graph nodes out.
// One file per family: aten_*.cpp. In-place forms ("add_") use the entry of the plain one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "quench/graph.h"
#include "quench/registry.h"

namespace quench {

// An integer argument: a number, or (a dim of `source`) * times / over + plus.
struct AtenInt {
  std::int64_t number = 0;  // as recorded first
  Dim dim;                  // what is known about it in symbols
  Value* source = nullptr;  // null: it is `number` for good
  int axis = 0;             // of source; -1: source holds the integer itself, one element
  std::int64_t times = 1, over = 1, plus = 0;

  AtenInt() = default;
  AtenInt(std::int64_t value) : number(value), dim(value) {}  // NOLINT: a number is an integer argument
  bool is_number() const { return !source; }
};

using AtenArg = std::variant<std::monostate, bool, AtenInt, double, std::string, Value*, std::vector<AtenInt>,
                             std::vector<double>, std::vector<Value*>>;
using Attrs = std::map<std::string, Attr>;
using Values = std::vector<Value*>;

// One call to be mapped. Arguments go by the names of the operator's schema; one that the schema of an
// overload does not have reads as absent.
class AtenCall {
 public:
  AtenCall(Graph& graph, std::string kind, std::string name)
      : graph_(graph), kind_(std::move(kind)), name_(std::move(name)) {}

  std::map<std::string, AtenArg> args;
  std::vector<TypeInfo> outputs;  // recorded types; a list result is one per element

  Graph& graph() const { return graph_; }
  const std::string& kind() const { return kind_; }  // "add": no namespace, no in-place underscore
  std::string where() const;                         // "aten::add (at 'layer1.0.conv1')"
  DType dtype() const { return outputs.at(0).dtype; }

  bool has(const std::string& arg) const;  // given, and not None
  Value& tensor(const std::string& arg) const;
  Value* tensor_or_null(const std::string& arg) const;
  Values tensors(const std::string& arg) const;
  std::int64_t integer(const std::string& arg) const;  // throws for one that depends on the input's shape
  std::int64_t integer(const std::string& arg, std::int64_t fallback) const;
  std::vector<std::int64_t> integers(const std::string& arg) const;  // of None: empty
  AtenInt dim_integer(const std::string& arg) const;                 // may depend on a shape
  std::vector<AtenInt> dim_integers(const std::string& arg) const;
  double real(const std::string& arg, double fallback) const;
  std::vector<double> reals(const std::string& arg) const;
  bool flag(const std::string& arg, bool fallback = false) const;
  std::string text(const std::string& arg, const std::string& fallback) const;
  // A tensor or a number as a value of type `dtype` (cast or made constant).
  Value& operand(const std::string& arg, DType dtype);
  int axis(const std::string& arg, int rank) const;  // 0..rank-1
  int axis(const std::string& arg, int rank, std::int64_t fallback) const;
  std::vector<std::int64_t> axes(const std::string& arg, int rank) const;  // sorted; of None or []: all

  // The node that stands for the call carries its name; further ones are named after it.
  Value& make(const std::string& op, const Values& inputs, const Attrs& attrs = {});
  Node& make_node(const std::string& op, const Values& inputs, int results, const Attrs& attrs = {});
  Value& aux(const std::string& op, const Values& inputs, const Attrs& attrs = {});
  Value& cast(Value& value, DType dtype);  // itself where it has the type
  Value& constant(const at::Tensor& tensor);
  Value& integers_constant(const std::vector<std::int64_t>& numbers);  // 1-D int64
  Value& scalar(double number, DType dtype);                           // rank 0
  Value& shape_value(const std::vector<AtenInt>& sizes);               // 1-D int64
  Value& reshape(Value& value, const std::vector<AtenInt>& sizes);     // with 0 and -1 where possible
  Value& transpose(Value& value, const std::vector<std::int64_t>& perm);
  std::vector<AtenInt> sizes_of(Value& value) const;  // its dims, as integers that can be computed

 private:
  const AtenArg& arg_of(const std::string& arg) const;
  Value& int_value(const AtenInt& number);
  std::string free_name(const std::string& base) const;
  [[noreturn]] void wrong(const std::string& arg, const char* wanted) const;

  Graph& graph_;
  std::string kind_;
  std::string name_;
};

struct AtenEntry {
  static constexpr const char* kKind = "LibTorch operator";
  Values (*map)(AtenCall& call) = nullptr;  // one value per result; null for one that has no counterpart
  // True if a parameter among the inputs names the node: Conv, BatchNormalization, Gemm.
  bool is_layer = false;
};
using AtenRegistry = Registry<AtenEntry>;

// Maps one call; throws, naming operator and layer, where there is no entry.
Values map_aten_call(AtenCall& call);

}  // namespace quench

// QUENCH_REGISTER_ATEN("relu", map_relu, "Relu")
#define QUENCH_REGISTER_ATEN(name, map, summary) QUENCH_REGISTER_ITEM(::quench::AtenEntry, name, summary, {map, false})
#define QUENCH_REGISTER_ATEN_LAYER(name, map, summary) \
  QUENCH_REGISTER_ITEM(::quench::AtenEntry, name, summary, {map, true})
