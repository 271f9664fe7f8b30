// Imports a model, puts a Softmax after its first output, runs it on random input, exports it.
#include <ATen/ATen.h>
#include <quench/executor.h>
#include <quench/export.h>
#include <quench/import.h>
#include <quench/op.h>

#include <iostream>

int main(int argc, char** argv) {
  if (argc != 3) return std::cerr << "usage: out_of_tree IN.onnx OUT.onnx\n", 1;
  quench::Graph graph = quench::import_model(argv[1]);
  quench::Value& logits = *graph.outputs()[0];
  quench::Node& softmax = graph.add("Softmax", "probabilities", {&logits});
  graph.set_output(0, softmax.output());
  quench::infer_shapes(graph);

  std::vector<std::int64_t> sizes;
  for (const quench::Dim& dim : graph.inputs()[0]->dims()) sizes.push_back(dim.is_number() ? dim.number() : 1);
  const at::Tensor result = quench::Executor(graph).run({at::rand(sizes)})[0].tensor();
  std::cout << "probabilities of shape " << result.sizes() << ", sum " << result.sum().item<float>() << "\n";
  quench::export_onnx(graph, argv[2]);
}
