#include "data/random_inputs.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include "graph/tensor_types.h"
#include "quench/error.h"

namespace quench {
namespace {

// So that a malicious file cannot ask for all memory.
constexpr std::int64_t kLargestInput = std::int64_t{1} << 31;

std::vector<std::int64_t> sizes_of(const Value& input) {
  QUENCH_CHECK(input.type().is_tensor() && input.has_rank(), "input '", input.name(), "' is ", input.type().text(),
               ": random values need a tensor of known rank");
  std::vector<std::int64_t> sizes;
  std::int64_t elements = 1;
  for (const Dim& dim : input.dims()) {
    QUENCH_CHECK(dim.is_number(), "input '", input.name(), "' has the open dimension '", dim.text(), "'");
    sizes.push_back(dim.number());
    QUENCH_CHECK(dim.number() == 0 || elements <= kLargestInput / dim.number(), "input '", input.name(), "' of ",
                 input.type().text(), " is too large for random values");
    elements *= dim.number();
  }
  return sizes;
}

RtValue random_value(const Value& input, at::Generator& generator) {
  const std::vector<std::int64_t> sizes = sizes_of(input);
  const DType dtype = input.dtype();
  const at::Tensor drawn =
      is_floating(dtype) ? at::randn(sizes, generator, at::kFloat) : at::randint(0, 2, sizes, generator, at::kInt);
  QUENCH_CHECK(is_floating(dtype) || is_integer(dtype) || dtype == DType::kBool, "input '", input.name(), "' is ",
               input.type().text(), ": there are no random values of that type");
  return RtValue(drawn.to(scalar_type_of(dtype)), dtype);
}

}  // namespace

NamedValues random_inputs(const Graph& graph, std::uint64_t seed) {
  at::Generator generator = at::detail::createCPUGenerator(seed);
  NamedValues values;
  for (const Value* input : graph.inputs()) values[input->name()] = random_value(*input, generator);
  return values;
}

}  // namespace quench
