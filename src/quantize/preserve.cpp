#include "quantize/preserve.h"

#include "quench/error.h"
#include "quench/registry.h"

namespace quench {
namespace {

std::string or_nearest(const std::string& name, const Graph& graph) {
  std::vector<std::string> known;
  for (const auto& [key, text] : graph.metadata)
    if (!key.starts_with("quench.")) known.push_back(key);
  const std::string nearest = nearest_name(name, known);
  return nearest.empty() ? "" : concat("; did you mean '", nearest, "'?");
}

}  // namespace

void preserve_metadata(Graph& graph, const JobConfig& config) {
  for (const std::string& name : config.preserve) {
    if (const auto given = config.metadata.find(name); given != config.metadata.end())
      graph.metadata[name] = given->second;
    QUENCH_CHECK(graph.metadata.contains(name), "'", name, "' is to be preserved, but the model's metadata has no ",
                 "such text", or_nearest(name, graph),
                 ". A graph has no attributes or methods of a Python module: give what is to go with the model as ",
                 "text, in Graph::metadata (metadata_props of an ONNX file) or as 'metadata' of the config, or remove ",
                 "it from 'preserve' ('preserve_attr' in MQBench's layout)");
  }
}

}  // namespace quench
