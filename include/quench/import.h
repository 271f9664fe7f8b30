// Front doors: a model file -> Graph, in the one dialect (opset 21 semantics), types inferred.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quench/graph.h"

namespace quench {

struct ImportOptions {
  bool allow_unsupported = false;  // keep nodes whose operator has no entry (to look at, not to run)
  // Element type and dims of each input, for files that do not give them: TorchScript. Dim 0 may still vary.
  std::vector<TypeInfo> inputs = {};
};

// "1,3,224,224" or "1,128:int64" -> a type for `inputs`.
TypeInfo parse_input_shape(const std::string& text);

// By what the file contains, not by its name: ONNX, a torch.export archive, or TorchScript. Errors carry
// "while importing PATH".
Graph import_model(const std::string& path, const ImportOptions& options = {});

Graph import_onnx(const std::string& path, const ImportOptions& options = {});
// `folder` is where external data lies; "" refuses external data.
Graph import_onnx_bytes(std::string_view bytes, const std::string& folder = "", const ImportOptions& options = {});

// An archive of torch.export.save (.pt2). Nodes are named after their modules, sizes stay symbolic.
Graph import_pt2(const std::string& path, const ImportOptions& options = {});

// A program of torch.jit.save, scripted or traced. It is run, in evaluation mode and for a bounded number of steps,
// to be traced again; branches and loops that depend on data become If and Loop. PyTorch 2 keeps the shapes of a trace
// in the file; for others give options.inputs.
Graph import_torchscript(const std::string& path, const ImportOptions& options = {});

}  // namespace quench
