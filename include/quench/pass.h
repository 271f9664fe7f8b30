// A pass changes a graph in one way and says in how many places. It has a name, no state between runs,
// and fails by throwing. A pipeline is an explicit list of names.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "quench/graph.h"
#include "quench/registry.h"

namespace quench {

struct PassEntry {
  static constexpr const char* kKind = "pass";
  int (*run)(Graph& graph) = nullptr;  // how many places it changed; a second run changes none
};
using PassRegistry = Registry<PassEntry>;

struct PassRecord {
  std::string pass;
  int changes = 0;
  double seconds = 0.0;
};
using AfterPass = std::function<void(const Graph&, const PassRecord&)>;

// In order; verifies after each, times and records it. An error leaves with "in pass NAME".
std::vector<PassRecord> run_passes(Graph& graph, const std::vector<std::string>& names, const AfterPass& after = {});

// What every imported graph gets before anything else: shapes, constants folded, identities gone.
const std::vector<std::string>& cleanup_passes();
// The fastest float form for this machine's CPU: BatchNorm folded, kernels fused. For running, not for
// quantizing or exporting.
const std::vector<std::string>& inference_passes();
// The form that an Engine takes (quench/engine.h): BatchNorm folded, nothing fused yet.
const std::vector<std::string>& engine_passes();
// The fastest form that still trains: for the copy of a graph that a training run executes. Its tensors are the graph's
// own, so that training the copy trains the graph. For running, not for folding or exporting.
const std::vector<std::string>& training_passes();
// Inference passes, without those for CPU kernels on other devices.
void optimize_for_running(Graph& graph, const std::string& device);

}  // namespace quench

// QUENCH_REGISTER_PASS("fold_batch_norm", fold_batch_norm, "folds a BatchNormalization into ...")
#define QUENCH_REGISTER_PASS(name, function, summary) \
  QUENCH_REGISTER_ITEM(::quench::PassEntry, name, summary, {function})
