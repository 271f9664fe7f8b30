// A small calibrated network, and its deployment, for the tests of exporters.
#pragma once

#include "calibrate/small_graph.h"
#include "quench/calibrate.h"
#include "quench/deploy.h"
#include "quench/export.h"
#include "quench/import.h"
#include "quench/prepare.h"

namespace quench {

// The network of small_graph.h on a platform, calibrated on eight items of whole numbers; as a file holds it.
inline Graph calibrated_graph(const std::string& platform, QuantConfig config = {}) {
  QuantizedModel prepared = prepare_by_platform(small_graph(), platform, std::move(config));
  const TensorData data(whole({8, 3, 8, 8}, 5, 9));
  calibrate(prepared, data, {});
  return with_plan_text(prepared);
}

inline Deployment deployed(const Graph& graph, const std::string& platform = "", Options exporter = {}) {
  DeployOptions options;
  options.platform = platform;
  options.name = "net";
  options.exporter = std::move(exporter);
  return deploy(quantized_model_of(graph), options);
}

inline const DeployFile& file_of(const Deployment& deployment, const std::string& name) {
  for (const DeployFile& file : deployment.files)
    if (file.name == name) return file;
  std::string names;
  for (const DeployFile& file : deployment.files) names += " " + file.name;
  fail("there is no file '", name, "' among", names);
}

// A model as it is in its file.
inline Graph read_back(const DeployFile& file) {
  return import_onnx_bytes(export_onnx_bytes(file.model, {.opset = file.opset}));
}

}  // namespace quench
