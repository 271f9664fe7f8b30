// Networks of the zoo as graphs, for the counts of platforms.md 4.
#pragma once

#include <ATen/ATen.h>

#include <ostream>

#include "quench/pass.h"
#include "quench/platform.h"
#include "quench/torch.h"
#include "quench/zoo_net.h"

namespace quench {

struct Counts {
  int activations = 0, weights = 0;
  bool operator==(const Counts&) const = default;
  friend std::ostream& operator<<(std::ostream& out, const Counts& counts) {
    return out << counts.activations << " / " << counts.weights;
  }
};

// As traced, BatchNormalization and all: what a platform sees before training.
inline const Graph& zoo_graph(const std::string& name) {
  static std::map<std::string, Graph> graphs;
  auto at = graphs.find(name);
  if (at == graphs.end()) {
    ModuleImportOptions options;
    options.check = false;
    at = graphs.emplace(name, from_module(make_zoo_model(name), {at::zeros({1, 3, 64, 64})}, options)).first;
    run_passes(at->second, cleanup_passes());
    run_passes(at->second, {"eliminate_dropout", "eliminate_identity", "eliminate_dead"});
  }
  return at->second;
}

inline Counts counts_of(const QuantPlan& plan) { return {plan.count(Role::kActivation), plan.count(Role::kWeight)}; }

inline Counts counts(const QuantConfig& config, const std::string& model) {
  return counts_of(make_plan(zoo_graph(model), config));
}

// Under parity, where the platform has it.
inline Counts counts(const std::string& platform, const std::string& model) {
  QuantConfig config;
  config.platform = platform;
  config.parity = find_platform(platform).has_parity;
  return counts(config, model);
}

}  // namespace quench
