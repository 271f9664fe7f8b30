// A model as the commands want it: imported, and cleaned up if all of its operators are known.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "quench/data.h"
#include "quench/graph.h"
#include "quench/import.h"

namespace CLI {
class App;
}

namespace quench {

// For files that do not give the shapes of their inputs: --input-shape 1,3,224,224 or 1,128:int64, one per input.
void add_input_shape_option(CLI::App& command, ImportOptions& options);

// Imported and run through cleanup_passes().
Graph load_model(const std::string& path, const ImportOptions& options = {});

// As load_model, but operators that are not supported are kept. `unsupported` counts them; if there is
// one, or with `raw`, the cleanup is skipped.
struct LoadedModel {
  Graph graph;
  std::map<std::string, int> unsupported;
  bool cleaned = false;
};
LoadedModel load_model_to_look_at(const std::string& path, bool raw, ImportOptions options = {});

// A network of the zoo whose weights nobody gave: what is measured on it means nothing.
std::vector<std::string> doubts_about_weights(const std::string& model);

// The data of a spec as the graph's input wants it; only the first `limit` items if that is not 0.
std::unique_ptr<Dataset> open_data(const std::string& spec, std::int64_t limit, const Graph& graph);

}  // namespace quench
