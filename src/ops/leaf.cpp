// quench.Leaf: calls a function that the graph cannot see into. quench.QuantStub and quench.DeQuantStub:
// the identity, where a user marks the borders of quantization. And the dispatcher ops behind them.
#include "quench/leaf.h"
#include "ops/moving.h"

#include <ATen/ATen.h>
#include <torch/library.h>

#include <map>
#include <mutex>

#include "ops/shape_rules.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

struct Leaves {
  std::mutex mutex;
  std::int64_t next = 0;
  std::map<std::int64_t, std::weak_ptr<const LeafFunction>> functions;
};

Leaves& leaves() {
  static Leaves instance;
  return instance;
}

// A result that is an input itself would make a tracer confuse the two.
std::vector<at::Tensor> distinct_results(std::vector<at::Tensor> results, const std::vector<at::Tensor>& inputs) {
  for (at::Tensor& result : results)
    for (const at::Tensor& input : inputs)
      if (result.is_same(input)) result = at::alias(result);
  return results;
}

std::vector<at::Tensor> leaf_kernel(std::int64_t number, at::TensorList list) {
  const std::vector<at::Tensor> inputs = list.vec();
  return distinct_results((*find_leaf(number))(inputs, std::nullopt), inputs);
}

at::Tensor stub_kernel(const at::Tensor& x) { return at::alias(x); }

TORCH_LIBRARY_FRAGMENT(quench, m) {
  m.def("leaf(int number, Tensor[] inputs) -> Tensor[]", leaf_kernel);
  m.def("quant_stub(Tensor(a) self) -> Tensor(a)", stub_kernel);
  m.def("dequant_stub(Tensor(a) self) -> Tensor(a)", stub_kernel);
}

auto dispatcher_op(const char* name) { return c10::Dispatcher::singleton().findSchemaOrThrow(name, ""); }

// Inputs: those of the function (`inputs` of them), then the parameters that it trains.
std::vector<RtValue> leaf(const Node& node, const Inputs& in, ExecContext& context) {
  const auto count = static_cast<std::size_t>(node.require_int("inputs"));
  QUENCH_CHECK(count <= in.size(), node.where(), ": has ", in.size(), " inputs, its leaf takes ", count);
  std::vector<at::Tensor> tensors;
  for (std::size_t i = 0; i < count; ++i) tensors.push_back(in[i].tensor());
  const bool training = context.training && !node.frozen;
  const auto results = distinct_results((*find_leaf(node.require_int("leaf")))(tensors, training), tensors);
  return {results.begin(), results.end()};
}

void leaf_shapes(Node&) {}  // only a run can tell: the types stay as the importer recorded them

std::vector<RtValue> stub(const Node&, const Inputs& in, ExecContext&) { return {in[0]}; }

}  // namespace

std::int64_t add_leaf(std::shared_ptr<const LeafFunction> function) {
  const std::lock_guard lock(leaves().mutex);
  leaves().functions[leaves().next] = function;
  return leaves().next++;
}

std::shared_ptr<const LeafFunction> find_leaf(std::int64_t number) {
  const std::lock_guard lock(leaves().mutex);
  const auto at = leaves().functions.find(number);
  std::shared_ptr<const LeafFunction> function = at == leaves().functions.end() ? nullptr : at->second.lock();
  QUENCH_CHECK(function, "leaf ", number,
               " is not in this process: its module is gone, or the graph came from a file; a graph with a quench.Leaf "
               "runs only where it was imported");
  return function;
}

std::vector<at::Tensor> call_leaf(std::int64_t number, const std::vector<at::Tensor>& inputs) {
  static const auto op = dispatcher_op("quench::leaf").typed<std::vector<at::Tensor>(std::int64_t, at::TensorList)>();
  return op.call(number, inputs);
}

at::Tensor quant_stub(const at::Tensor& x) {
  static const auto op = dispatcher_op("quench::quant_stub").typed<at::Tensor(const at::Tensor&)>();
  return op.call(x);
}

at::Tensor dequant_stub(const at::Tensor& x) {
  static const auto op = dispatcher_op("quench::dequant_stub").typed<at::Tensor(const at::Tensor&)>();
  return op.call(x);
}

QUENCH_REGISTER_OP("quench.Leaf", leaf, leaf_shapes, OpTraits{}, "a part of a module that stays opaque")
QUENCH_REGISTER_OP("quench.QuantStub", stub, same_as_input, moving(), "the identity: quantization begins here")
QUENCH_REGISTER_OP("quench.DeQuantStub", stub, same_as_input, moving(), "the identity: quantization ends here")

}  // namespace quench
