#include "report/machine.h"

#include <ATen/ATen.h>
#include <ATen/Version.h>
#include <torch/version.h>

#include "core/cpu_quirks.h"
#include "quench/process.h"

#ifdef QUENCH_WITH_CUDA
#include <ATen/cuda/CUDAContext.h>
#endif

namespace quench {
namespace {

std::vector<std::string> engines() {
  std::vector<std::string> names;
  if (at::hasMKL()) names.emplace_back("mkl");
  if (at::hasMKLDNN()) names.emplace_back("onednn");
  if (at::hasOpenMP()) names.emplace_back("openmp");
  for (const at::QEngine engine : at::globalContext().supportedQEngines()) {
    if (engine != at::QEngine::NoQEngine) names.push_back("quantized:" + c10::toString(engine));
  }
  return names;
}

std::vector<std::string> cuda_devices() {
  std::vector<std::string> names;
#ifdef QUENCH_WITH_CUDA
  for (int i = 0; i < static_cast<int>(at::cuda::device_count()); ++i)
    names.emplace_back(at::cuda::getDeviceProperties(static_cast<c10::DeviceIndex>(i))->name);
#endif
  return names;
}

}  // namespace

Machine describe_machine() {
  Machine machine;
  machine.version = QUENCH_VERSION;
  machine.libtorch_version = TORCH_VERSION;
  machine.compiler = __VERSION__;
  machine.threads = threads();
  machine.engines = engines();
  machine.instruction_sets = read_cpu().instruction_sets;
  machine.libtorch_capability = at::get_cpu_capability();
#ifdef QUENCH_WITH_CUDA
  machine.cuda_built = true;
#endif
  machine.cuda_devices = cuda_devices();
  return machine;
}

}  // namespace quench
