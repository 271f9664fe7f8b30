#include <chrono>

#include "quench/pass.h"

namespace quench {

std::vector<PassRecord> run_passes(Graph& graph, const std::vector<std::string>& names, const AfterPass& after) {
  std::vector<PassRecord> records;
  for (const std::string& name : names) {
    const PassEntry& entry = PassRegistry::instance().get(name);
    const auto start = std::chrono::steady_clock::now();
    PassRecord record{name, 0, 0.0};
    with_context([&] { return "in pass " + name; },
                 [&] {
                   record.changes = entry.run(graph);
                   graph.verify();
                 });
    record.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (after) after(graph, record);
    records.push_back(record);
  }
  return records;
}

const std::vector<std::string>& cleanup_passes() {
  static const std::vector<std::string> passes = {"infer_shapes", "fold_constants", "eliminate_identity",
                                                  "eliminate_dead", "infer_shapes"};
  return passes;
}

const std::vector<std::string>& inference_passes() {
  static const std::vector<std::string> passes = {"infer_shapes",       "eliminate_dropout", "fold_weights",
                                                  "eliminate_identity", "fold_batch_norm",   "fuse_conv_kernels",
                                                  "eliminate_dead",     "infer_shapes"};
  return passes;
}

const std::vector<std::string>& engine_passes() {
  static const std::vector<std::string> passes = [] {
    std::vector<std::string> names = inference_passes();
    std::erase(names, "fuse_conv_kernels");  // the engine fuses what it runs
    return names;
  }();
  return passes;
}

const std::vector<std::string>& training_passes() {
  static const std::vector<std::string> passes = {"fuse_live_norms", "fuse_relu_quantizers", "skip_input_gradients"};
  return passes;
}

void optimize_for_running(Graph& graph, const std::string& device) {
  std::vector<std::string> names = inference_passes();
  const bool has_kernels = device == "cpu" || device.starts_with("cuda");
  if (!has_kernels) std::erase(names, "fuse_conv_kernels");
  run_passes(graph, names);
}

}  // namespace quench
