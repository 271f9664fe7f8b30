// Functions of one element that oneDNN computes by itself or at the end of a layer.
#pragma once

#include <optional>

#include "engine/onednn.h"
#include "quench/graph.h"

namespace quench {

struct Eltwise {
  dnnl::algorithm algorithm;
  float alpha = 0.0F, beta = 0.0F;
};
// Nothing if oneDNN has no such function.
std::optional<Eltwise> eltwise_of(const Node& node);
// Of those, what costs next to nothing at the end of a layer.
bool is_worth_fusing(const Node& node);

}  // namespace quench
