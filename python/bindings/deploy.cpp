// Files for the target, and whether its runtime computes what was simulated.
#include "quench/deploy.h"

#include "bindings.h"
#include "python_calls.h"
#include "quench/import.h"
#include "quench/verify.h"
#include "report/deploy_text.h"
#include "report/verify_text.h"

namespace quench::python {
namespace {

// What was written, as JSON.
std::string deploy_to(const QuantizedModel& model, const std::string& folder, const DeployOptions& options,
                      bool force) {
  const Deployment files = deploy(model, options);
  write_deployment(files, folder, force);
  return json_of(files, folder).dump();
}

DeployOptions deploy_options(const std::string& name, std::int64_t opset,
                             const std::map<std::string, OptionValue>& exporter, const Dataset* data) {
  DeployOptions options;
  options.name = name;
  options.opset = opset;
  for (const auto& [key, value] : exporter) options.exporter.set(key, value);
  options.data = data;
  return options;
}

struct Verified {
  std::string json, text;
  bool passed = false;
};

Verified verify_file(const std::string& file, const Dataset& data, const VerifyOptions& given,
                     const py::object& progress) {
  PythonCalls calls;
  VerifyOptions options = given;
  const auto show = calls.progress(progress);
  options.progress = [&](std::int64_t done, std::int64_t total) { show("verifying", done, total); };
  return calls.run([&]() -> Verified {
    const VerifyResult result = verify(file, data, options);
    return {json_of(result).dump(), verify_text(result), result.passed()};
  });
}

}  // namespace

void bind_deploy(py::module_& module) {
  py::class_<DeployOptions>(module, "DeployOptions").def(py::init(&deploy_options), py::keep_alive<1, 5>());
  module.def("deploy", &deploy_to, py::call_guard<py::gil_scoped_release>());
  py::class_<VerifyOptions>(module, "VerifyOptions")
      .def(py::init<>())
      .def_readwrite("runtime", &VerifyOptions::runtime)
      .def_readwrite("runner", &VerifyOptions::runner)
      .def_readwrite("rule", &VerifyOptions::rule)
      .def_readwrite("model", &VerifyOptions::model)
      .def_readwrite("layers", &VerifyOptions::layers)
      .def_readwrite("bound", &VerifyOptions::bound)
      .def_readwrite("output_mean", &VerifyOptions::output_mean)
      .def_readwrite("output_bound", &VerifyOptions::output_bound)
      .def_readwrite("output_share", &VerifyOptions::output_share)
      .def_readwrite("output_largest", &VerifyOptions::output_largest)
      .def_readwrite("accuracy_bound", &VerifyOptions::accuracy_bound)
      .def_readwrite("batch", &VerifyOptions::batch)
      .def_readwrite("timeout", &VerifyOptions::timeout);
  py::class_<Verified>(module, "Verified")
      .def_readonly("json", &Verified::json)
      .def_readonly("text", &Verified::text)
      .def_readonly("passed", &Verified::passed);
  module.def("deployed_files", &deployed_files);
  module.def("verify", &verify_file);
}

}  // namespace quench::python
