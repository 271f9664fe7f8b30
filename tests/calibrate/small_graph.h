// A small network with quantizers, and data in memory, for the tests of calibration.
#pragma once

#include <ATen/ATen.h>

#include "quench/data.h"
#include "quench/error.h"
#include "quench/executor.h"
#include "quench/pass.h"
#include "quench/plan.h"
#include "quench/prepare.h"

namespace quench {

// Whole numbers: every sum of products is exact, so that all ways to compute it agree to the bit.
inline at::Tensor whole(at::IntArrayRef sizes, std::int64_t seed, int largest) {
  const at::Tensor places = at::arange(at::empty(sizes).numel(), at::kLong) * 7919 + seed * 104729;
  return (places % (2 * largest + 1) - largest).to(at::kFloat).reshape(sizes);
}

// x -> conv1 -> relu1 -> conv2 -> add(relu1) -> relu2 -> pool
inline Graph small_graph() {
  Graph graph;
  TypeInfo type;
  type.dtype = DType::kFloat;
  type.dims = Dims{Dim::symbol("N"), Dim(3), Dim(8), Dim(8)};
  Value& x = graph.add_input("x", type);
  Value& w1 = graph.add_constant("w1", whole({4, 3, 3, 3}, 1, 3));
  Value& b1 = graph.add_constant("b1", whole({4}, 2, 3));
  Value& w2 = graph.add_constant("w2", whole({4, 4, 3, 3}, 3, 3));
  Value& b2 = graph.add_constant("b2", whole({4}, 4, 3));
  const auto conv = [&](const char* name, Value& from, Value& weight, Value& bias) -> Value& {
    Node& node = graph.add("Conv", name, {&from, &weight, &bias});
    node.attrs["pads"] = std::vector<std::int64_t>{1, 1, 1, 1};
    return node.output();
  };
  Value& relu1 = graph.add("Relu", "relu1", {&conv("conv1", x, w1, b1)}).output();
  Value& conv2 = conv("conv2", relu1, w2, b2);
  Value& relu2 = graph.add("Relu", "relu2", {&graph.add("Add", "add", {&conv2, &relu1}).output()}).output();
  graph.add_output(graph.add("GlobalMaxPool", "pool", {&relu2}).output());
  run_passes(graph, {"infer_shapes"});
  return graph;
}

inline PlanEntry plan_entry(const std::string& value, const std::string& scheme,
                            const std::string& observer = "min_max") {
  PlanEntry entry;
  entry.value = value;
  entry.scheme = QScheme::parse(scheme);
  entry.observer = observer;
  if (value[0] == 'w') entry.role = Role::kWeight;
  return entry;
}

// Quantizers on the input, both weights, relu1 and relu2.
inline QuantizedModel quantized_model(const std::string& observer = "min_max", bool int32_bias = false) {
  QuantPlan plan;
  plan.entries = {plan_entry("x", "int8 symmetric tensor", observer), plan_entry("w1", "int8 symmetric channel:0"),
                  plan_entry("relu1", "uint8 affine tensor", observer), plan_entry("w2", "int8 symmetric channel:0"),
                  plan_entry("relu2", "uint8 affine tensor", observer)};
  if (int32_bias)
    for (const char* layer : {"1", "2"}) {
      PlanEntry bias = plan_entry(std::string("b") + layer, "int8 symmetric tensor");
      bias.role = Role::kBias;
      bias.derived_from = {layer[0] == '1' ? "x" : "relu1", std::string("w") + layer};
      plan.entries.push_back(bias);
    }
  return insert_quantizers(small_graph(), plan);
}

class TensorData : public Dataset {
 public:
  explicit TensorData(at::Tensor items, std::int64_t broken = -1) : items_(std::move(items)), broken_(broken) {}
  std::int64_t size() const override { return items_.size(0); }
  Task task() const override { return Task::kNone; }
  Sample get(std::int64_t index) const override {
    QUENCH_CHECK(index != broken_, "this item is broken");
    return {items_[index], -1, std::to_string(index), -1};
  }

 private:
  at::Tensor items_;
  std::int64_t broken_;
};

inline QParams params_of(const Graph& graph, const std::string& value) {
  return qparams_of(*quantizer_of(graph, value));
}

inline QParams params_of(const QuantizedModel& model, const std::string& value) {
  return params_of(model.graph, value);
}

}  // namespace quench
