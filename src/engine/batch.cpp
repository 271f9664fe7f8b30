#include "engine/batch.h"

#include <algorithm>
#include <set>

#include "graph/tensor_types.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

// Each item by itself, whatever the attributes.
const std::set<std::string>& item_ops() {
  static const std::set<std::string> ops = {
      "Conv", "ConvTranspose", "MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "BatchNormalization",
      "InstanceNormalization", "LRN", "PRelu",
      // of single elements
      "Relu", "LeakyRelu", "Sigmoid", "Tanh", "Elu", "Selu", "HardSwish", "HardSigmoid", "Gelu", "Clip", "Erf", "Exp",
      "Sqrt", "Abs", "Neg", "Softplus", "Identity", "Dropout", "Add", "Sub", "Mul", "Div", "Pow", "Min", "Max", "Cast",
      // of codes
      "quench.Quantize", "quench.Dequantize", "quench.QConv", "quench.QConvTranspose", "quench.QAdd", "quench.QMul",
      "quench.QAveragePool", "quench.QGlobalAveragePool", "quench.QTable"};
  return ops;
}

bool is_off_batch(const Node& node, std::int64_t axis) {
  return axis > 0 || (axis < 0 && node.input(0)->has_rank() && axis + node.input(0)->rank() > 0);
}

// A Slice that leaves the first dim alone: one that takes all of it by steps of 1 may name it, others are refused.
bool cuts_off_batch(const Node& node) {
  const Value* axes = node.input(3);
  if (!axes || !axes->is_constant()) return false;
  const std::vector<std::int64_t> list = integers_of(axes->tensor());
  return std::all_of(list.begin(), list.end(), [&](std::int64_t axis) { return is_off_batch(node, axis); });
}

bool is_item_node(const Node& node) {
  const std::string& op = node.op();
  if (item_ops().contains(op)) return true;
  if (op == "Flatten") return is_off_batch(node, node.get_int("axis", 1));
  if (op == "Concat" || op == "quench.QConcat") return is_off_batch(node, node.require_int("axis"));
  if (op == "Softmax" || op == "LayerNormalization") return is_off_batch(node, node.get_int("axis", -1));
  if (op == "Gemm") return node.get_int("transA", 0) == 0 && node.input(1)->is_constant();
  if (op == "quench.QGemm") return node.get_int("transA", 0) == 0 && node.input(3)->is_constant();
  if (op == "MatMul" || op == "quench.QMatMul") {
    const Value& b = *node.input(op == "MatMul" ? 1 : 3);
    return b.is_constant() || (node.input(0)->has_rank() && node.input(0)->rank() > 2);
  }
  if (op == "Transpose") {
    const std::vector<std::int64_t> perm = node.get_ints("perm", {});
    return !perm.empty() && perm[0] == 0;
  }
  if (op == "Slice") return cuts_off_batch(node);
  // keeps_batch() sees pads of the first dim.
  return (op == "Reshape" || op == "Pad" || op == "Squeeze" || op == "Unsqueeze") && node.input(1) &&
         node.input(1)->is_constant();
}

// Its items are where they were: the first dim is the batch still.
bool keeps_batch(const Node& node, const Dim& batch) {
  return std::all_of(node.outputs().begin(), node.outputs().end(), [&](const Value* output) {
    return !output || (output->has_rank() && output->rank() > 0 && output->dims()[0] == batch);
  });
}

// A constant with a first dim of its own would belong to certain items.
bool has_fixed_items(const Node& node) {
  if (node.op() != "Add" && node.op() != "Sub" && node.op() != "Mul" && node.op() != "Div") return false;
  return std::any_of(node.inputs().begin(), node.inputs().end(), [&](const Value* input) {
    return input && input->is_constant() && input->rank() == node.output().rank() && input->dims()[0] != Dim(1);
  });
}

}  // namespace

Graph with_input_dims(const Graph& graph, const std::vector<Dims>& inputs) {
  Graph copy = graph;
  for (const auto& node : copy.nodes())
    for (Value* output : node->outputs())
      if (output && output->type().is_tensor()) {
        output->set_type(TypeInfo::tensor(output->dtype()));
        output->contents.reset();
      }
  for (std::size_t i = 0; i < inputs.size(); ++i)
    copy.inputs()[i]->set_type(TypeInfo::tensor(copy.inputs()[i]->dtype(), inputs[i]));
  infer_shapes(copy);
  return copy;
}

static bool is_per_item_for(const Graph& graph, const Dim& batch) {
  std::vector<Dims> inputs;
  for (const Value* input : graph.inputs()) {
    if (!input->has_rank() || input->rank() == 0) return false;
    Dims dims = input->dims();
    dims[0] = batch;
    inputs.push_back(std::move(dims));
  }
  if (inputs.empty()) return false;
  // A constant is one of the whole batch.
  for (const Value* output : graph.outputs())
    if (output->is_constant()) return false;
  const Graph any_batch = with_input_dims(graph, inputs);
  return std::all_of(any_batch.nodes().begin(), any_batch.nodes().end(), [&](const auto& node) {
    return is_item_node(*node) && keeps_batch(*node, batch) && !has_fixed_items(*node);
  });
}

bool is_per_item(const Graph& graph) {
  try {
    return is_per_item_for(graph, Dim::symbol("batch"));
  } catch (const Error&) {
    return false;  // a model for one batch size alone: its shapes contradict any other
  }
}

}  // namespace quench
