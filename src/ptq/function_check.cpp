#include "ptq/function_check.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <set>

#include "data/feed.h"
#include "graph/tensor_types.h"
#include "quench/error.h"
#include "quench/executor.h"
#include "quench/op.h"

namespace quench {
namespace {

constexpr std::int64_t kOpenBatch = 2, kOpenSize = 64;  // of random inputs, where the model leaves them open

at::Tensor random_input(const Value& input) {
  QUENCH_CHECK(input.has_rank(), "the rank of the input '", input.name(), "' is not known: give data to check on");
  std::vector<std::int64_t> sizes;
  for (const Dim& dim : input.dims())
    sizes.push_back(dim.is_number() ? dim.number() : (sizes.empty() ? kOpenBatch : kOpenSize));
  if (!is_floating(input.dtype())) return at::zeros(sizes, scalar_type_of(input.dtype()));
  const at::Generator generator = at::detail::createCPUGenerator(0);  // the same numbers in every run
  return at::randn(sizes, generator, at::TensorOptions().dtype(at::kFloat)).to(scalar_type_of(input.dtype()));
}

double root_mean_square(const at::Tensor& tensor) { return tensor.square().mean(at::kDouble).sqrt().item<double>(); }

// How many terms the sums of this node have.
double terms_of(const Node& node) {
  const OpTraits& traits = entry_of(node).traits;
  const Value* weight = traits.weight_slot < 0 ? nullptr : node.input(traits.weight_slot);
  if (!weight || !weight->is_constant() || !traits.weight_axis || weight->rank() == 0) return 1.0;
  const at::Tensor& tensor = weight->tensor();
  return static_cast<double>(tensor.numel()) / static_cast<double>(tensor.size(traits.weight_axis(node)));
}

bool is_float_tensor(const RtValue& value) { return value.is_tensor() && value.tensor().is_floating_point(); }

}  // namespace

std::vector<RtValue> check_inputs(const Graph& graph, const Dataset* data) {
  std::vector<RtValue> inputs;
  if (!data) {
    for (const Value* input : graph.inputs()) inputs.emplace_back(random_input(*input), input->dtype());
    return inputs;
  }
  FeedOptions how;
  how.otherwise = kCheckedItems;
  how.workers = 0;
  how.skip_broken = true;  // calibration reports broken items
  Feed feed(graph, *data, how);
  const std::optional<Fed> items = feed.next();
  QUENCH_CHECK(items, "the data is empty: equalization needs at least one item");
  for (const Value* input : graph.inputs()) inputs.push_back(items->inputs.at(input->name()));
  return inputs;
}

FunctionCheck::FunctionCheck(const Graph& graph, std::vector<RtValue> inputs, const std::vector<std::string>& values)
    : inputs_(std::move(inputs)) {
  std::set<std::string> wanted(values.begin(), values.end());
  for (const Value* output : graph.outputs()) wanted.insert(output->name());
  double terms = 0.0;
  for (const auto& node : graph.nodes()) {
    terms += terms_of(*node);
    for (const Value* output : node->outputs())
      if (output && wanted.contains(output->name())) values_.push_back({output->name(), terms * 0x1p-24});
  }
  const auto keep = [&](const std::string& name, const at::Tensor& tensor) { before_[name] = tensor.clone(); };
  with_context([] { return "while running the network to check equalization"; }, [&] { run(graph, keep); });
}

// One value at a time: all of them in doubles would be the largest thing in memory.
void FunctionCheck::run(const Graph& graph, const See& see) const {
  Executor executor(graph);
  for (const Kept& kept : values_)
    executor.on_value(kept.name, [&](const Value& value, RtValue& result) {
      if (is_float_tensor(result)) see(value.name(), result.tensor());
      return Next::kContinue;
    });
  executor.run(inputs_);
}

std::vector<FunctionCheck::Difference> FunctionCheck::compare(const Graph& graph,
                                                              const std::map<std::string, at::Tensor>& factors) const {
  std::map<std::string, double> off_by;
  run(graph, [&](const std::string& name, const at::Tensor& tensor) {
    const at::Tensor before = before_.at(name).to(at::kDouble), after = tensor.to(at::kDouble);
    const auto factor = factors.find(name);
    const double off = root_mean_square((factor == factors.end() ? after : after * factor->second) - before);
    off_by[name] = off == 0 ? 0.0 : off / root_mean_square(before);
  });
  std::vector<Difference> differences;
  for (const auto& [name, bound] : values_)
    if (before_.contains(name)) differences.push_back({name, off_by.at(name), bound});
  return differences;
}

}  // namespace quench
