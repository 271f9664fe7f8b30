// Whether a deployed file agrees with the model it was made from: quantizer by quantizer, constant by constant.
#pragma once

#include <string>
#include <vector>

#include "quench/graph.h"

namespace quench {

// The graph of a deployed file with quantizers instead of QuantizeLinear and DequantizeLinear.
Graph with_quantizers(Graph file);

struct QuantizerComparison {
  std::int64_t quantizers = 0;           // of the model
  std::vector<std::string> differences;  // sentences, each with the name of the tensor
};

// `model` is ready for deployment (convert/ready.h), `file` with_quantizers(). Places are known by the nodes that read
// them: an exporter may rename tensors, drop clamps that saturation computes, and write signed codes as unsigned ones;
// it may not change a scale, the ends of a range or a constant. Weights may get a wider range: their codes are fixed.
QuantizerComparison compare_quantizers(const Graph& model, const Graph& file);

// What no file says, for a run of both: the quantizers of the file divide as those of the model do, and keep to its
// narrow codes (bare pairs cannot).
void align_quantizers(const Graph& model, Graph& file);

}  // namespace quench
