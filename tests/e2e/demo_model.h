// The embedded model and its images: the first half to learn from, the second to judge by.
#pragma once

#include <ATen/ATen.h>

#include <cstdlib>
#include <string>

#include "quench/data.h"
#include "quench/executor.h"
#include "quench/import.h"
#include "quench/pass.h"

namespace quench {

inline std::string demo_folder() { return std::string(std::getenv("QUENCH_TEST_DATA")) + "/../../examples/demo"; }

struct Images {
  at::Tensor pixels, labels;
};

inline Images demo_images(int offset, int count) {
  const std::string folder = demo_folder();
  const auto data = open_dataset("idx:" + folder + "/images.gz?labels=" + folder + "/labels.gz&norm=mnist&offset=" +
                                 std::to_string(offset) + "&limit=" + std::to_string(count));
  LoadOptions options;
  options.batch_size = count;
  Loader loader(*data, options);
  const Batch batch = *loader.next();
  return {batch.inputs.tensor(), at::tensor(batch.labels)};
}

// Batch norm folded: the form that quantizers are placed on.
inline Graph demo_graph() {
  Graph graph = import_model(demo_folder() + "/fashion_cnn.onnx");
  run_passes(graph, {"fold_batch_norm", "eliminate_dead"});
  return graph;
}

inline at::Tensor logits_of(Executor& executor, const at::Tensor& pixels) {
  return executor.run({RtValue(pixels)})[0].tensor();
}

inline double accuracy(const Graph& graph, const Images& images) {
  Executor executor(graph);
  return logits_of(executor, images.pixels).argmax(1).eq(images.labels).to(at::kDouble).mean().item<double>();
}

}  // namespace quench
