// A model as the commands want it: imported, and cleaned up where all of it is known.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "quench/data.h"
#include "quench/graph.h"
#include "quench/import.h"

namespace CLI {
class App;
}

namespace quench {

// Where a file does not say the shapes of its inputs: --input-shape 1,3,224,224 or 1,128:int64, one an input.
void add_input_shape_option(CLI::App& command, ImportOptions& options);

// Imported and run through cleanup_passes().
Graph load_model(const std::string& path, const ImportOptions& options = {});

// As load_model, but operators that are not supported are kept. `unsupported` counts them; where there is
// one, or with `raw`, the cleanup is left out.
struct LoadedModel {
  Graph graph;
  std::map<std::string, int> unsupported;
  bool cleaned = false;
};
LoadedModel load_model_to_look_at(const std::string& path, bool raw, ImportOptions options = {});

// The data of a spec as the graph's input wants it; the first `limit` items alone where that is not 0.
std::unique_ptr<Dataset> open_data(const std::string& spec, std::int64_t limit, const Graph& graph);

}  // namespace quench
