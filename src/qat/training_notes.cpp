#include "qat/training_notes.h"

#include <algorithm>

#include "core/counted.h"
#include "quench/pass.h"

namespace quench {
namespace {

std::int64_t dropouts(const Graph& graph) {
  return std::count_if(graph.nodes().begin(), graph.nodes().end(),
                       [](const auto& node) { return node->op() == "Dropout"; });
}

}  // namespace

std::vector<std::string> guarded_notes(const Graph& trained) {
  Graph folded = trained;  // shares the tensors; folding replaces them
  run_passes(folded, {"fold_live_norms"});
  std::vector<std::string> notes;
  for (const auto& node : folded.nodes())
    if (const auto found = node->metadata.find("quench.guarded_channels"); found != node->metadata.end())
      notes.push_back(concat(node->where(), ": channels ", found->second,
                             " have a BatchNorm factor near 0, by which training does not divide; they are "
                             "folded with it all the same (docs/numerics.md 8.5)"));
  return notes;
}

std::string dropout_note(const Graph& original, const Graph& trained) {
  const std::int64_t removed = dropouts(original) - dropouts(trained);
  if (removed <= 0) return "";
  return concat(counted(removed, "Dropout node"), " taken out of the network: it trains without dropout");
}

}  // namespace quench
