// The README's snippet: from a float model to the target's files.
#include <quench/deploy.h>
#include <quench/quantize.h>

#include <iostream>

int main(int argc, char** argv) {
  if (argc != 4) return std::cerr << "usage: quantize MODEL DATA FOLDER\n", 1;
  const quench::Quantized result = quench::quantize(argv[1], argv[2], {.platform = "onnxruntime"});
  const quench::Deployment files = quench::deploy(result.model, {.name = "model"});
  quench::write_deployment(files, argv[3]);
  std::cout << result.record.plan->entries.size() << " quantizers, " << files.files.size() << " files\n";
}
