// Networks of the zoo as graphs, for the counts of docs/platforms.md 4.
#pragma once

#include <ostream>

#include "quench/platform.h"

namespace quench {

struct Counts {
  int activations = 0, weights = 0;
  bool operator==(const Counts&) const = default;
  friend std::ostream& operator<<(std::ostream& out, const Counts& counts) {
    return out << counts.activations << " / " << counts.weights;
  }
};

// As traced, BatchNormalization and all: what a platform sees before training. In zoo_graph_test.cpp, so that the tests
// of platforms need no torch header.
const Graph& zoo_graph(const std::string& name);

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
