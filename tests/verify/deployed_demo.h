// The embedded model, quantized and deployed in a folder that is removed with the test.
#pragma once

#include <string>

#include "cli/demo.h"
#include "deploy/onnx_checker.h"
#include "quench/calibrate.h"
#include "quench/deploy.h"
#include "quench/export.h"
#include "quench/import.h"
#include "quench/prepare.h"
#include "quench/verify.h"

namespace quench {

class DeployedDemo {
 public:
  explicit DeployedDemo(const std::string& platform = "onnxruntime")
      : DeployedDemo(import_model(demo_model()), *open_dataset(demo_data(0, 64)), platform) {}
  DeployedDemo(const Graph& model, const Dataset& calibration, const std::string& platform) {
    QuantizedModel quantized = prepare_by_platform(model, platform);
    calibrate(quantized, calibration);
    Graph file = with_plan_text(quantized);
    export_onnx(file, folder_.path("demo.quench.onnx"));
    DeployOptions options;
    options.name = "demo";
    write_deployment(deploy(quantized, options), folder_.path("files"));
  }
  std::string folder() const { return folder_.path("files"); }
  std::string file() const { return deployed_files(folder(), "onnxruntime").at(0); }
  std::string beside(const std::string& name) const { return folder_.path(name); }
  VerifyResult verify_on(int images, const VerifyOptions& options) const {
    return verify(file(), *open_dataset(demo_data(500, images)), options);
  }

 private:
  TemporaryFolder folder_;
};

// Without such instructions ONNX Runtime's kernels add in 16 bits and saturate.
inline bool processor_adds_exactly() {
  return __builtin_cpu_supports("avx512vnni") || __builtin_cpu_supports("avxvnni");
}

// The python with the runtime in it; "" if it is not available, and then `why`.
inline std::string runtime_python(const std::string& runtime, std::string& why) {
  const CommandResult made = run_command(demo_file("../../tools/test-venv") + " " + runtime);
  why = made.output;
  return made.status == 0 ? made.output.substr(0, made.output.find('\n')) : "";
}

}  // namespace quench
