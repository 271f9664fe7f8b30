// Every element type of ONNX, as initializer, input and output of a file, and through the operators that only move
// elements: each such operator must give, bit for bit, what it gives on plain integers.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "deploy/onnx/op_versions.h"
#include "graph/tensor_types.h"
#include "quench/error.h"
#include "quench/executor.h"
#include "quench/export.h"
#include "quench/import.h"
#include "quench/op.h"

namespace quench {
namespace {

using Ints = std::vector<std::int64_t>;

std::vector<DType> all_types() {
  std::vector<DType> types;
  for (int number = 1; number < kDTypeCount; ++number)
    if (static_cast<DType>(number) != DType::kString) types.push_back(static_cast<DType>(number));
  return types;
}

// Codes below 64 as elements of a type, each for itself: numbers, or bits where a type has so few.
at::Tensor elements(const at::Tensor& codes, DType dtype) {
  const at::ScalarType type = scalar_type_of(dtype);
  const bool is_code = bits_of(dtype) <= 8 && is_floating(dtype);
  if (dtype == DType::kBool) return codes.remainder(2).to(at::kBool);
  if (is_code && bits_of(dtype) == 8) return codes.to(at::kByte).view(type);
  if (bits_of(dtype) >= 8) return codes.to(type);
  const std::int64_t count = std::int64_t{1} << bits_of(dtype);
  const at::Tensor low = codes.remainder(count);
  const bool extends = is_integer(dtype) && is_signed(dtype);
  return (extends ? at::where(low.ge(count / 2), low - count, low) : low).to(type);
}

at::Tensor input_codes() { return at::arange(24, at::kLong).reshape({2, 3, 4}); }
at::Tensor constant_codes() { return 63 - input_codes(); }

struct Slot {
  enum class Kind : std::uint8_t { kInput, kConstant, kNumbers } kind = Kind::kInput;
  at::Tensor numbers;
};
const Slot kX{Slot::Kind::kInput, {}}, kC{Slot::Kind::kConstant, {}};
Slot numbers(const Ints& values) { return {Slot::Kind::kNumbers, integer_tensor(values)}; }
Slot numbers(const Ints& values, const Ints& dims) {
  return {Slot::Kind::kNumbers, integer_tensor(values).reshape(dims)};
}
Slot truths(const Ints& values) { return {Slot::Kind::kNumbers, integer_tensor(values).to(at::kBool)}; }

struct Movement {
  std::string op;
  std::vector<Slot> slots;
  std::map<std::string, Attr> attrs = {};
  int outputs = 1;
};

std::vector<Movement> movements() {
  const auto i = [](std::int64_t value) { return Attr(value); };
  return {{"Identity", {kX}},
          {"Identity", {kC}},
          {"Reshape", {kX, numbers({4, -1})}},
          {"Flatten", {kX}},
          {"Unsqueeze", {kX, numbers({1})}},
          {"Squeeze", {kX, numbers(Ints{})}},
          {"Transpose", {kX}},
          {"Expand", {kX, numbers({2, 2, 1, 4})}},
          {"Concat", {kX, kC}, {{"axis", i(1)}}},
          {"Split", {kX}, {{"axis", i(2)}, {"num_outputs", i(2)}}, 2},
          {"Slice", {kX, numbers({2, 0}), numbers({-9, 2}), numbers({1, 2}), numbers({-1, 1})}},
          {"Tile", {kX, numbers({1, 2, 1})}},
          {"Gather", {kX, numbers({2, -3, 0})}, {{"axis", i(1)}}},
          {"Gather", {kC, numbers({1, 1})}},
          {"GatherElements", {kX, numbers({1, 0, 1, 1}, {1, 1, 4})}},
          {"GatherND", {kX, numbers({1, 2, 0, 1}, {2, 2})}},
          {"ScatterElements", {kX, numbers(Ints(24, 1), {2, 3, 4}), kC}, {{"axis", i(2)}}},
          {"ScatterND", {kX, numbers({1, 0}, {2, 1}), kC}},
          {"Where", {truths({1, 0, 0, 1}), kX, kC}},
          {"Pad", {kX, numbers({0, 1, 0, 0, 0, 2})}},
          {"Pad", {kX, numbers({0, 1, 0, 0, 0, 2})}, {{"mode", "edge"}}},
          {"Pad", {kX, numbers({0, 1, 0, 0, 0, 2})}, {{"mode", "reflect"}}},
          {"Pad", {kX, numbers({0, 1, 0, 0, 0, 2})}, {{"mode", "wrap"}}},
          {"ReverseSequence", {kX, numbers({2, 1, 2})}},
          {"Compress", {kX, truths({1, 0, 1})}, {{"axis", i(1)}}},
          {"Trilu", {kX}},
          {"SplitToSequence", {kX}, {{"axis", i(1)}}},
          {"SequenceConstruct", {kX, kC}},
          {"Optional", {kX}}};
}

// One node on x (an input) and c (an initializer) of a type, through a file.
Graph one_movement(const Movement& movement, DType dtype) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(dtype, {2, 3, 4}));
  std::vector<Value*> inputs;
  for (const Slot& slot : movement.slots) {
    const std::string name = concat("in", inputs.size());
    if (slot.kind == Slot::Kind::kInput) inputs.push_back(&x);
    if (slot.kind == Slot::Kind::kConstant)
      inputs.push_back(&graph.add_constant(name, elements(constant_codes(), dtype), dtype));
    if (slot.kind == Slot::Kind::kNumbers) inputs.push_back(&graph.add_constant(name, slot.numbers));
  }
  Node& node = graph.add(movement.op, "node", inputs, movement.outputs);
  node.attrs = movement.attrs;
  for (Value* output : node.outputs()) graph.add_output(*output);
  infer_shapes(graph);
  return graph;
}

// A sequence as the list of its elements.
std::vector<RtValue> flat(const std::vector<RtValue>& values) {
  std::vector<RtValue> result;
  for (const RtValue& value : values) {
    if (value.is_sequence())
      result.insert(result.end(), value.elements().begin(), value.elements().end());
    else
      result.push_back(value);
  }
  return result;
}

std::vector<RtValue> run(const Graph& graph, DType dtype) {
  return flat(Executor(graph).run({RtValue(elements(input_codes(), dtype), dtype)}));
}

bool takes(const Movement& movement, DType dtype) {
  const std::vector<OpVersion>* versions = versions_of(movement.op);
  const OpVersion* version = versions ? version_at(*versions, kNewestOpset) : nullptr;
  // Of sequences and optionals the table does not tell the types: they take all.
  return version && (version->takes_input(movement.op == "Where" ? 1 : 0, dtype));
}

void expect_moved(const Movement& movement, DType dtype) {
  SCOPED_TRACE(concat(movement.op, " of ", name_of(dtype)));
  const std::vector<RtValue> expected = run(one_movement(movement, DType::kInt64), DType::kInt64);
  const Graph graph = import_onnx_bytes(export_onnx_bytes(one_movement(movement, dtype), {.opset = kNewestOpset}));
  const std::vector<RtValue> actual = run(graph, dtype);
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    EXPECT_EQ(actual[i].dtype(), dtype);
    EXPECT_TRUE(bit_equal(actual[i].tensor(), elements(expected[i].tensor(), dtype)));
  }
}

TEST(ElementTypes, MoveAsTheyAre) {
  int count = 0;
  for (const Movement& movement : movements()) {
    for (const DType dtype : all_types()) {
      if (!takes(movement, dtype)) continue;
      ++count;
      try {
        expect_moved(movement, dtype);
      } catch (const std::exception& error) {
        ADD_FAILURE() << movement.op << " of " << name_of(dtype) << ": " << error.what();
      }
    }
  }
  std::cout << count << " pairs of operator and element type\n";
  EXPECT_GT(count, 400);  // 25 types, most operators take all or most of them
}

// To float and back: small numbers, which float holds exactly.
TEST(ElementTypes, SurviveACastToFloatAndBack) {
  for (const DType dtype : all_types()) {
    if (!takes({"Cast", {kX}}, dtype)) continue;
    SCOPED_TRACE(name_of(dtype));
    Graph graph;
    Value& x = graph.add_input("x", TypeInfo::tensor(dtype, {2, 3, 4}));
    Node& there = graph.add("Cast", "there", {&x});
    there.attrs["to"] = static_cast<std::int64_t>(DType::kFloat);
    Node& back = graph.add("Cast", "back", {&there.output()});
    back.attrs["to"] = static_cast<std::int64_t>(dtype);
    graph.add_output(back.output());
    infer_shapes(graph);
    const Graph read = import_onnx_bytes(export_onnx_bytes(graph, {.opset = kNewestOpset}));
    const std::vector<RtValue> result = run(read, dtype);
    EXPECT_EQ(result[0].dtype(), dtype);
    EXPECT_TRUE(bit_equal(result[0].tensor(), elements(input_codes(), dtype)));
  }
}

}  // namespace
}  // namespace quench
