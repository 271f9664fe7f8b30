// What `make demo` runs: imports the embedded model (a small CNN that this project trained on Fashion-MNIST),
// shows what is in it, and measures its accuracy and speed on the embedded images.
#include <cstdio>
#include <filesystem>

#include "quench/evaluate.h"
#include "quench/import.h"
#include "quench/pass.h"
#include "quench/process.h"

namespace {

void show_model(const std::string& path, const quench::Graph& graph) {
  std::printf("model      %s, %.0f kB, %zu nodes\n", path.c_str(),
              static_cast<double>(std::filesystem::file_size(path)) / 1000, graph.nodes().size());
  for (const quench::Value* input : graph.inputs())
    std::printf("input      %s: %s\n", input->name().c_str(), input->type().text().c_str());
  for (const quench::Value* output : graph.outputs())
    std::printf("output     %s: %s\n", output->name().c_str(), output->type().text().c_str());
}

void show_result(const char* title, const quench::EvalResult& result) {
  const quench::Interval interval = quench::wilson_interval(result.correct, result.images);
  std::printf("%-22s top-1 %.2f %% (%lld of %lld; 95 %% interval %.2f to %.2f), %.0f images/s in the model\n", title,
              100 * result.top1(), static_cast<long long>(result.correct), static_cast<long long>(result.images),
              100 * interval.low, 100 * interval.high, static_cast<double>(result.images) / result.model_seconds);
}

int demo(const std::string& model, const std::string& data_spec) {
  quench::Graph graph = quench::import_model(model);
  quench::run_passes(graph, quench::cleanup_passes());
  show_model(model, graph);
  const auto data = quench::open_dataset(data_spec, quench::input_hint(graph));
  std::printf("data       %s, %lld images\n\n", data_spec.c_str(), static_cast<long long>(data->size()));

  quench::EvalOptions options;
  const quench::EvalResult plain = quench::evaluate(graph, *data, options);
  show_result("float, op by op", plain);
  for (const quench::PassRecord& record : quench::run_passes(graph, quench::inference_passes()))
    if (record.changes > 0) std::printf("  pass %-24s changed %d places\n", record.pass.c_str(), record.changes);
  options.channels_last = true;
  const quench::EvalResult fused = quench::evaluate(graph, *data, options);
  show_result("float, folded + fused", fused);
  const quench::PairedTest test = quench::compare_predictions(plain.predictions, fused.predictions);
  std::printf("images with another class predicted: %lld of %lld\n", static_cast<long long>(test.changed),
              static_cast<long long>(test.images));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: example_demo MODEL.onnx DATA_SPEC\n"), 1;
  quench::avoid_cpu_quirks();
  quench::keep_large_blocks();
  try {
    return demo(argv[1], argv[2]);
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "demo: error: %s\n", error.what()), 1;
  }
}
