#include "import/trace/inputs.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>

#include "graph/tensor_types.h"
#include "quench/error.h"
#include "quench/torch.h"

namespace quench {
namespace {

std::vector<std::map<int, std::string>> default_dynamic_dims(const std::vector<at::Tensor>& examples) {
  std::vector<std::map<int, std::string>> result(examples.size());
  for (std::size_t i = 0; i < examples.size(); ++i)
    if (examples[i].dim() > 0 && examples[0].dim() > 0 && examples[i].size(0) == examples[0].size(0))
      result[i][0] = "N";
  return result;
}

// By how much the `index`-th symbol is multiplied: different for every trace and every symbol.
std::int64_t factor_of(std::size_t index, int trace) {
  const auto i = static_cast<std::int64_t>(index);
  if (trace == 0) return 1;
  if (trace == 1) return i + 2;
  if (trace >= ModuleInputs::kTraces && i == 0) return 4;  // a batch size that was never traced
  return i == 1 ? 2 : i + 3;
}

at::Tensor random_like(const at::Tensor& example, const std::vector<std::int64_t>& sizes, at::Generator& generator,
                       bool mirrored) {
  const at::Tensor wide = example.detach().to(at::kCPU, at::kDouble);
  const at::Tensor finite = wide.masked_select(wide.isfinite());  // a mask may hold -inf
  double low = finite.numel() > 0 ? finite.min().item<double>() : -1.0;
  double high = finite.numel() > 0 ? finite.max().item<double>() : 1.0;
  const bool floating = example.is_floating_point();
  if (low == high && floating) {
    low -= 1.0;
    high += 1.0;
  }
  if (!floating) high += 1.0;  // whole numbers of both ends
  at::Tensor uniform = at::rand(sizes, generator, at::TensorOptions().dtype(at::kDouble));
  if (mirrored) uniform = 1.0 - uniform;
  at::Tensor values = uniform * (high - low) + low;
  if (!floating) values = at::clamp(at::floor(values), low, high - 1.0);
  return values.to(example.device(), example.scalar_type());
}

}  // namespace

ModuleInputs::ModuleInputs(const std::vector<at::Tensor>& examples, const ModuleImportOptions& options) {
  QUENCH_CHECK(!examples.empty(), "importing a module needs at least one example input");
  const auto dynamic = options.dynamic_dims.empty() ? default_dynamic_dims(examples) : options.dynamic_dims;
  QUENCH_CHECK(dynamic.size() == examples.size(), "dynamic_dims has ", dynamic.size(), " entries for ", examples.size(),
               " example inputs");
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const at::Tensor& example = examples[i];
    QUENCH_CHECK(example.defined() && example.numel() > 0, "example input ", i, " is undefined or empty");
    examples_.push_back(make_tensor_attr(example));
    Dims dims = dims_of(example);
    for (const auto& [dim, symbol] : dynamic[i]) {
      QUENCH_CHECK(dim >= 0 && dim < example.dim(), "dynamic_dims names dim ", dim, " of input ", i, ", which has ",
                   example.dim(), " dims");
      dims[static_cast<std::size_t>(dim)] = Dim::symbol(symbol);
      if (std::find(symbols_.begin(), symbols_.end(), symbol) == symbols_.end()) symbols_.push_back(symbol);
    }
    types_.push_back(TypeInfo::tensor(dtype_of(example), dims));
  }
}

std::vector<std::int64_t> ModuleInputs::factors(std::size_t input, int trace) const {
  std::vector<std::int64_t> result;
  for (const Dim& dim : *types_[input].dims) {
    const auto at = std::find(symbols_.begin(), symbols_.end(), dim.symbol());
    result.push_back(dim.is_symbol() ? factor_of(static_cast<std::size_t>(at - symbols_.begin()), trace) : 1);
  }
  return result;
}

std::vector<at::Tensor> ModuleInputs::repeated(int trace) const {
  std::vector<at::Tensor> result;
  for (std::size_t i = 0; i < examples_.size(); ++i) {
    const at::Tensor example = examples_[i].tensor->detach();
    result.push_back(example.dim() == 0 ? example.clone() : example.repeat(factors(i, trace)));
  }
  return result;
}

std::vector<at::Tensor> ModuleInputs::random(int trace, bool mirrored) const {
  at::Generator generator = at::detail::createCPUGenerator(42);
  std::vector<at::Tensor> result;
  for (std::size_t i = 0; i < examples_.size(); ++i) {
    const at::Tensor& example = *examples_[i].tensor;
    std::vector<std::int64_t> sizes = factors(i, trace);
    for (std::size_t d = 0; d < sizes.size(); ++d) sizes[d] *= example.size(static_cast<std::int64_t>(d));
    result.push_back(random_like(example, sizes, generator, mirrored));
  }
  return result;
}

std::vector<at::Tensor> ModuleInputs::smallest() const {
  at::Generator generator = at::detail::createCPUGenerator(42);
  std::vector<at::Tensor> result;
  bool smaller = false;
  for (std::size_t i = 0; i < examples_.size(); ++i) {
    const at::Tensor& example = *examples_[i].tensor;
    std::vector<std::int64_t> sizes = example.sizes().vec();
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      if (!(*types_[i].dims)[d].is_symbol()) continue;
      smaller = smaller || sizes[d] > 1;
      sizes[d] = 1;
    }
    result.push_back(random_like(example, sizes, generator, false));
  }
  return smaller ? result : std::vector<at::Tensor>();
}

}  // namespace quench
