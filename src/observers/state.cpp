#include "quench/statistic.h"

#include <ATen/ATen.h>

#include "quench/error.h"

namespace quench {
namespace {

const at::Tensor& entry(const State& state, const std::string& name) {
  const auto at = state.find(name);
  QUENCH_CHECK(at != state.end(), "there is no entry '", name, "'");
  return at->second;
}

template <typename Number>
std::vector<Number> numbers_of(const at::Tensor& values, at::ScalarType type) {
  const at::Tensor flat = values.cpu().to(type).flatten().contiguous();
  const auto* data = flat.const_data_ptr<Number>();
  return {data, data + flat.numel()};
}

const at::Tensor& entry_of_size(const State& state, const std::string& name, std::size_t count) {
  const at::Tensor& found = entry(state, name);
  QUENCH_CHECK(static_cast<std::size_t>(found.numel()) == count, "the entry '", name, "' has ", found.numel(),
               " values, not ", count);
  return found;
}

}  // namespace

at::Tensor state_of(const std::vector<float>& values) { return at::tensor(values, at::kFloat); }
at::Tensor state_of(const std::vector<double>& values) { return at::tensor(values, at::kDouble); }
at::Tensor state_of(const std::vector<std::int64_t>& values) { return at::tensor(values, at::kLong); }

std::vector<float> floats_of(const at::Tensor& values) { return numbers_of<float>(values, at::kFloat); }
std::vector<double> doubles_of(const at::Tensor& values) { return numbers_of<double>(values, at::kDouble); }

std::vector<float> floats_of(const State& state, const std::string& name, std::size_t count) {
  return floats_of(entry_of_size(state, name, count));
}

std::vector<double> doubles_of(const State& state, const std::string& name, std::size_t count) {
  return doubles_of(entry_of_size(state, name, count));
}

std::vector<double> doubles_of(const State& state, const std::string& name) { return doubles_of(entry(state, name)); }

std::vector<std::int64_t> integers_of(const State& state, const std::string& name) {
  return numbers_of<std::int64_t>(entry(state, name), at::kLong);
}

}  // namespace quench
