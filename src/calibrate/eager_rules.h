// From PyTorch's names to a QuantConfig: chains of modules, and modules with a QConfig of their own. Nothing here knows
// about torch::nn.
#pragma once

#include "quench/graph.h"
#include "quench/qconfig.h"

namespace quench {

// Throws if a list cannot be fused, or its modules are in the other mode.
void check_fusible(const std::vector<ModuleInfo>& modules, const std::vector<std::string>& names, bool is_qat);

// The nodes of the module's own graph for each list; those that `fused` (the same graph, later) no longer has are
// left out, as are lists with a single node left.
std::vector<std::vector<std::string>> fused_nodes(const std::vector<std::vector<std::string>>& lists,
                                                  const std::vector<ModuleInfo>& modules, const Graph& traced,
                                                  const Graph& fused);

// The platform: that of the whole model, else the first one named. Throws if there is none.
std::string backend_of(const QConfigMapping& mapping);

// The defaults, and one rule per layer whose QConfig differs from the rest, or that has none.
void apply_mapping(const QConfigMapping& mapping, const std::vector<ModuleInfo>& modules, const Graph& graph,
                   QuantConfig& config);

}  // namespace quench
