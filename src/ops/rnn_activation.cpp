#include "ops/rnn_activation.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "core/joined.h"
#include "quench/error.h"

namespace quench {
namespace {

struct Definition {
  at::Tensor (*function)(const at::Tensor& x, double alpha, double beta);
  std::optional<double> alpha, beta;  // the defaults of the parameters that it takes
};

const std::map<std::string, Definition>& definitions() {
  using T = const at::Tensor&;
  static const std::map<std::string, Definition> kDefinitions{
      {"sigmoid", {[](T x, double, double) { return at::sigmoid(x); }, {}, {}}},
      {"tanh", {[](T x, double, double) { return at::tanh(x); }, {}, {}}},
      {"relu", {[](T x, double, double) { return at::relu(x); }, {}, {}}},
      {"softsign", {[](T x, double, double) { return x / (at::abs(x) + 1); }, {}, {}}},
      {"softplus", {[](T x, double, double) { return at::softplus(x); }, {}, {}}},
      {"elu", {[](T x, double a, double) { return at::elu(x, a); }, 1.0, {}}},
      {"leakyrelu", {[](T x, double a, double) { return at::leaky_relu(x, a); }, 0.01, {}}},
      {"thresholdedrelu", {[](T x, double a, double) { return at::threshold(x, a, 0); }, 1.0, {}}},
      {"affine", {[](T x, double a, double b) { return x * a + b; }, 1.0, 0.0}},
      {"scaledtanh", {[](T x, double a, double b) { return at::tanh(x * b) * a; }, 1.0, 1.0}},
      {"hardsigmoid", {[](T x, double a, double b) { return at::clamp(x * a + b, 0, 1); }, 0.2, 0.5}},
  };
  return kDefinitions;
}

const Definition& definition_of(const Node& node, std::string& name) {
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto at = definitions().find(name);
  if (at != definitions().end()) return at->second;
  fail(node.where(), ": unknown activation '", name,
       "'; known: ", joined(definitions(), ", ", [](const auto& one) { return one.first; }));
}

}  // namespace

at::Tensor RnnActivation::operator()(const at::Tensor& x) const {
  const at::Tensor kept = clip ? at::clamp(x, -*clip, *clip) : x;
  return definitions().at(name).function(kept, alpha, beta);
}

std::vector<RnnActivation> rnn_activations(const Node& node, const std::vector<std::string>& defaults,
                                           std::size_t direction) {
  std::vector<std::string> names = node.get_strings("activations", {});
  if (names.empty())
    for (std::size_t i = 0; i <= direction; ++i) names.insert(names.end(), defaults.begin(), defaults.end());
  const std::size_t begin = direction * defaults.size(), end = begin + defaults.size();
  QUENCH_CHECK(names.size() >= end, node.where(), ": ", names.size(), " activations, each direction needs ",
               defaults.size());
  const std::vector<double> alphas = node.get_floats("activation_alpha", {});
  const std::vector<double> betas = node.get_floats("activation_beta", {});
  std::vector<RnnActivation> result;
  std::size_t next_alpha = 0, next_beta = 0;  // the lists hold values only for functions that take them
  for (std::size_t i = 0; i < end; ++i) {
    RnnActivation activation;
    const Definition& definition = definition_of(node, names[i]);
    activation.name = names[i];
    const auto take = [](const std::vector<double>& list, std::size_t& next, std::optional<double> fallback) {
      if (!fallback) return 0.0;
      return next < list.size() ? list[next++] : *fallback;
    };
    activation.alpha = take(alphas, next_alpha, definition.alpha);
    activation.beta = take(betas, next_beta, definition.beta);
    // The cell's own output function, the last of LSTM's three, is not clipped.
    if (node.has("clip") && (defaults.size() < 3 || i % 3 != 2)) activation.clip = node.get_float("clip", 0.0);
    if (i >= begin) result.push_back(activation);
  }
  return result;
}

}  // namespace quench
