// Statistics as tensors and back: numbers keep their exact values, and a state that does not fit is refused.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace at {
class Tensor;
}

namespace quench {

using State = std::map<std::string, at::Tensor>;

at::Tensor state_of(const std::vector<float>& values);
at::Tensor state_of(const std::vector<double>& values);
at::Tensor state_of(const std::vector<std::int64_t>& values);

std::vector<float> floats_of(const at::Tensor& values);
std::vector<double> doubles_of(const at::Tensor& values);

// Entry `name`; throws if it is missing or does not have `count` values.
std::vector<double> doubles_of(const State& state, const std::string& name);
std::vector<float> floats_of(const State& state, const std::string& name, std::size_t count);
std::vector<double> doubles_of(const State& state, const std::string& name, std::size_t count);
std::vector<std::int64_t> integers_of(const State& state, const std::string& name);

}  // namespace quench
