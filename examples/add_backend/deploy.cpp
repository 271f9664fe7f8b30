// Step 3, the translator: takes the quantizers out of the model and writes what the chip needs of them beside it.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "chip_file.h"
#include "quench/side_file.h"

namespace {

// The registers n and p: those that the chip's quantizer learned, or the ends of the scheme (another quantizer's).
int bound_of(const quench::StrippedTensor& tensor, const char* name, int usual) {
  const auto at = tensor.own.find(name);
  return at == tensor.own.end() ? usual : static_cast<int>(std::lround(at->second.front()));
}

std::string line_of(const quench::StrippedTensor& tensor) {
  quench::check_per_tensor(tensor, "the example chip");
  const quench::QScheme& scheme = tensor.type.scheme;
  return quench::concat(quench::number_text(tensor.type.params.scale[0]), " ", tensor.type.params.zero_point[0], " ",
                        bound_of(tensor, "quant_min", scheme.qmin()), " ", bound_of(tensor, "quant_max", scheme.qmax()),
                        " ", kRoundMode);
}

void write_chip(const quench::DeployJob& job, quench::Deployment& deployment) {
  const quench::StrippedModel model = quench::strip_quantizers(job.graph);
  std::vector<quench::TextLine> lines;
  for (const quench::StrippedTensor& tensor : model.tensors) lines.emplace_back(tensor.name, line_of(tensor));
  deployment.files.push_back(quench::model_file(job, kModelEnding, model.graph));
  deployment.files.push_back(
      quench::text_file(job, kTableEnding, lines, " ", "scale, zero point, bounds and round mode of each tensor"));
}

}  // namespace

std::vector<ChipTensor> read_table(const std::string& model_file) {
  QUENCH_CHECK(model_file.ends_with(kModelEnding), "'", model_file, "' is not a file of the chip: N", kModelEnding);
  const std::string path = model_file.substr(0, model_file.size() - kModelEnding.size()) + kTableEnding;
  std::ifstream in(path);
  QUENCH_CHECK(in, "'", path, "' cannot be read: it belongs beside '", model_file, "'");
  std::vector<ChipTensor> tensors;
  for (std::string line; std::getline(in, line);) {
    ChipTensor one;
    std::istringstream words(line);
    words >> one.name >> one.scale >> one.zero_point >> one.quant_min >> one.quant_max >> one.round_mode;
    QUENCH_CHECK(words && one.scale > 0 && one.round_mode == kRoundMode, "'", path,
                 "' has a line that the chip does not take: ", line);
    tensors.push_back(one);
  }
  return tensors;
}

QUENCH_REGISTER_EXPORTER("example_chip", write_chip, "the example chip's: N_chip.onnx and N_chip.txt")
