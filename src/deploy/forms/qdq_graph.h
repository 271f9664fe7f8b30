// Quantizers as QuantizeLinear and DequantizeLinear nodes.
//   activation   v -> QuantizeLinear [-> Clip on the codes] -> DequantizeLinear -> users
//   weight       codes -> DequantizeLinear -> layer          bias   int32 codes at s_x * s_w -> DequantizeLinear
// Weights keep their name after the DequantizeLinear, so that reading the file back finds them.
#pragma once

#include "quench/graph.h"

namespace quench {

inline constexpr std::int64_t kFirstQdqOpset = 13;  // the first with an axis

struct QdqStyle {
  // What nodes are called after: "<tensor>_quantized", "<tensor>_dequantized"; or the node that makes the tensor
  // ("input" at an input of the model; docs/platforms.md 5.5); or the quantizer, where the tensor between the two is
  // "<quantizer>_quantized_out" and the one after keeps its name (docs/platforms.md 5.6, 6).
  enum class Names { kTensor, kProducer, kQuantizer };
  Names names = Names::kTensor;
  // A range without the lowest code (-127..127) is kept by a Clip on the codes; without one, an activation may reach
  // -128, but tools that look for bare pairs find them (docs/platforms.md 5.6). Other narrow ranges always have a Clip.
  bool clip_lowest = true;
};

Graph qdq_graph(const Graph& ready, const QdqStyle& style = {});

}  // namespace quench
