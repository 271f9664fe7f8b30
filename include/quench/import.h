// Front doors: a model file -> Graph, in the one dialect (opset 21 semantics), types inferred.
#pragma once

#include <string>
#include <string_view>

#include "quench/graph.h"

namespace quench {

struct ImportOptions {
  bool allow_unsupported = false;  // keep nodes whose operator has no entry (to look at, not to run)
};

// By what the file is, not by its name: ONNX, or an archive of torch.export. Errors carry "while importing PATH".
Graph import_model(const std::string& path, const ImportOptions& options = {});

Graph import_onnx(const std::string& path, const ImportOptions& options = {});
// `folder` is where external data lies; "" refuses external data.
Graph import_onnx_bytes(std::string_view bytes, const std::string& folder = "", const ImportOptions& options = {});

// An archive of torch.export.save (.pt2). Nodes are named after their modules, sizes stay symbolic.
Graph import_pt2(const std::string& path, const ImportOptions& options = {});

}  // namespace quench
