#include "deploy/sample_inputs.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <map>
#include <optional>

#include "convert/quantized.h"
#include "data/feed.h"
#include "graph/tensor_types.h"
#include "quench/error.h"
#include "quench/rt_value.h"

namespace quench {
namespace {

constexpr int kBatches = 2;
constexpr std::int64_t kItems = 4;  // of data

// Used for sizes that are not known.
struct Sizes {
  std::int64_t items, others;
};

std::vector<std::int64_t> sizes_of(const Value& value, Sizes unknown) {
  std::vector<std::int64_t> sizes;
  for (std::size_t d = 0; d < value.dims().size(); ++d) {
    const Dim& dim = value.dims()[d];
    sizes.push_back(dim.is_number() ? dim.number() : d == 0 ? unknown.items : unknown.others);
  }
  return sizes;
}

// Over the range of the quantizer that reads it, a little beyond both ends.
at::Tensor normal_of(const Value& value, const std::vector<std::int64_t>& sizes, const at::Generator& random) {
  const at::Tensor normal = at::randn(sizes, random);
  for (const Value::Use& use : value.uses()) {
    if (!is_quantizer(use.node) || use.slot != 0) continue;
    const QType type = qtype_of(*use.node);
    if (!type.scheme.is_int() || !type.scheme.per_tensor()) continue;
    const double scale = type.params.scale[0], zero = type.params.zero_point[0];
    const double low = scale * (type.scheme.qmin() - zero), high = scale * (type.scheme.qmax() - zero);
    return normal * ((high - low) / 4) + (low + high) / 2;
  }
  return normal;
}

RtValue input_of(const Value& value, Sizes unknown, const at::Generator& random) {
  const std::vector<std::int64_t> sizes = sizes_of(value, unknown);
  if (!is_integer(value.dtype()) && value.dtype() != DType::kBool)
    return RtValue(normal_of(value, sizes, random).to(scalar_type_of(value.dtype())), value.dtype());
  return RtValue(at::randint(0, 2, sizes, random).to(scalar_type_of(value.dtype())), value.dtype());
}

std::optional<std::vector<NamedValues>> tried(const Graph& graph, Sizes unknown) {
  const at::Generator random = at::detail::createCPUGenerator(0);
  std::vector<NamedValues> batches;
  std::vector<std::string> names;
  for (const Value* output : graph.outputs()) names.push_back(output->name());
  for (int i = 0; i < kBatches; ++i) {
    NamedValues inputs;
    for (const Value* input : graph.inputs()) inputs[input->name()] = input_of(*input, unknown, random);
    batches.push_back(std::move(inputs));
  }
  try {
    Executor(graph).run(batches[0], names);
  } catch (const Error&) {  // sizes that do not fit
    return std::nullopt;
  }
  return batches;
}

bool knows_all_sizes(const Graph& graph) {
  for (const Value* input : graph.inputs())
    for (std::size_t d = 1; d < input->dims().size(); ++d)
      if (!input->dims()[d].is_number()) return false;
  return true;
}

}  // namespace

std::vector<NamedValues> first_inputs(const Graph& graph, const Dataset& data) {
  FeedOptions how;
  how.otherwise = kItems;
  how.skip_broken = true;
  how.total = kItems;
  Feed feed(graph, data, how);
  std::optional<Fed> batch = feed.next();
  if (!batch) return {};
  return {std::move(batch->inputs)};
}

std::vector<NamedValues> runnable_inputs(const Graph& graph) {
  for (const Value* input : graph.inputs())
    if (!input->has_rank()) return {};
  const std::vector<std::int64_t> candidates =
      knows_all_sizes(graph) ? std::vector<std::int64_t>{1} : std::vector<std::int64_t>{64, 32, 224, 16, 48, 256, 8, 1};
  for (const std::int64_t items : {2, 1})  // some files know their batch by constants alone
    for (const std::int64_t others : candidates)
      if (const auto found = tried(graph, {items, others})) return *found;
  return {};
}

}  // namespace quench
