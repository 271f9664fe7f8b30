// TorchScript programs that are compiled and saved by a test.
#pragma once

#include <ATen/ATen.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/frontend/sugared_value.h>

#include <memory>
#include <string>
#include <vector>

#include "import/onnx_files.h"
#include "quench/executor.h"
#include "quench/import.h"

namespace quench {

// Besides `torch`, programs of the test may call operators of `prim`, as the code of a saved trace does.
struct WithPrim : torch::jit::Resolver {
  std::shared_ptr<torch::jit::SugaredValue> resolveValue(const std::string& name, torch::jit::GraphFunction& function,
                                                         const torch::jit::SourceRange& range) override {
    if (name == "prim") return std::make_shared<torch::jit::BuiltinModule>("prim");
    return torch::jit::nativeResolver()->resolveValue(name, function, range);
  }
};

inline torch::jit::Module program(const std::string& code) {
  torch::jit::Module module("__torch__.Net");
  module.register_attribute("training", c10::BoolType::get(), true);
  module.define(code, std::make_shared<WithPrim>());
  return module;
}

inline std::string saved(const TempFolder& folder, const torch::jit::Module& module) {
  std::string path = folder.path("net.pt");
  module.save(path);
  return path;
}

inline ImportOptions shapes(const std::vector<Dims>& dims) {
  ImportOptions options;
  for (const Dims& one : dims) options.inputs.push_back(TypeInfo::tensor(DType::kFloat, one));
  return options;
}

// The error that importing it ends in.
inline std::string refusal(const torch::jit::Module& module, const ImportOptions& options = shapes({{2, 4}})) {
  const TempFolder folder;
  const std::string path = saved(folder, module);
  return error_of([&] { import_model(path, options); });
}

inline std::vector<RtValue> outputs_of(const Graph& graph, const std::vector<at::Tensor>& inputs) {
  Executor executor(graph);
  return executor.run({inputs.begin(), inputs.end()});
}

}  // namespace quench
