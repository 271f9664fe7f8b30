// A model without its quantizers, for targets that read ranges from a file beside it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "quant/reference.h"
#include "quench/graph.h"

namespace quench {

// A tensor that was quantized, under its name in the stripped model.
struct StrippedTensor {
  std::string name;
  Role role = Role::kActivation;
  QType type;
};

struct StrippedModel {
  // Weights are rounded to their grids (docs/numerics.md 12), int32 biases too; Pads of nothing are gone. Inputs and
  // outputs keep their names.
  Graph graph;
  std::vector<StrippedTensor> tensors;  // in order of the graph; each name is a value of it

  const StrippedTensor* find(const std::string& name) const;  // null if it was not quantized
};

StrippedModel strip_quantizers(const Graph& ready);

// Inserts it in order; replaces another of that name.
void add_tensor(StrippedModel& model, StrippedTensor tensor);
// The inputs of Flatten, Resize and Reshape that have no range; for each the tensor downstream whose range it takes.
std::map<std::string, std::string> ranges_found_behind(const Graph& graph,
                                                       const std::function<bool(const std::string&)>& has_range);
void pass_ranges_back(StrippedModel& model);  // adds them

// Puts the constant `value` in place of what the quantizer of a constant gives; under the constant's own name if
// nothing else reads that. For exporters that bake.
Value& replace_by_baked(Graph& graph, Node& quantizer, const at::Tensor& value);
// The same for exporters that keep the quantizer: quantizing it again gives the same codes, by whichever algorithm it
// was rounded.
void bake_source(Graph& graph, Node& quantizer, const at::Tensor& value);

void drop_empty_pads(Graph& graph);

}  // namespace quench
