// quench's own dispatcher ops, as a trace records them.
#include <ATen/ATen.h>

#include "import/aten/aten.h"
#include "quench/leaf.h"

namespace quench {
namespace {

// A function that lives as long as some graph holds its node. An Attr has no room for a function, so the
// node's tensor attribute owns it on the side: the tensor (its number) and the function share one block.
struct KeptLeaf {
  at::Tensor number;
  std::shared_ptr<const LeafFunction> function;
};

TensorAttr keep_alive(std::int64_t number) {
  const auto kept = std::make_shared<KeptLeaf>(KeptLeaf{at::scalar_tensor(number, at::kLong), find_leaf(number)});
  return {std::shared_ptr<const at::Tensor>(kept, &kept->number), DType::kInt64};
}

Values map_leaf(AtenCall& call) {
  const std::int64_t number = call.integer("number");
  Values inputs = call.tensors("inputs");
  const auto count = static_cast<std::int64_t>(inputs.size());
  // So that training the graph's parameters also trains those inside the leaf.
  const Values parameters = call.tensors("parameters");
  inputs.insert(inputs.end(), parameters.begin(), parameters.end());
  Node& node = call.make_node("quench.Leaf", inputs, static_cast<int>(call.outputs.size()),
                              {{"leaf", number}, {"inputs", count}, {"quench.kept", keep_alive(number)}});
  return {node.outputs().begin(), node.outputs().end()};
}

Values map_quant_stub(AtenCall& call) { return {&call.make("quench.QuantStub", {&call.tensor("self")})}; }
Values map_dequant_stub(AtenCall& call) { return {&call.make("quench.DeQuantStub", {&call.tensor("self")})}; }

}  // namespace

QUENCH_REGISTER_ATEN("quench::leaf", map_leaf, "quench.Leaf")
QUENCH_REGISTER_ATEN("quench::quant_stub", map_quant_stub, "quench.QuantStub")
QUENCH_REGISTER_ATEN("quench::dequant_stub", map_dequant_stub, "quench.DeQuantStub")

}  // namespace quench
