// The runtimes that deployed files can be run in, each by a script of tools/runners.
#include "quench/verify.h"

namespace quench {

// Bounds: what was measured of each on ResNet-20, rounded up (docs/runners.md).
QUENCH_REGISTER_ITEM(RuntimeEntry, "onnxruntime", "ONNX Runtime on the CPU, all optimizations",
                     {"onnxruntime.py", "mlas", 0.0, true, false})
QUENCH_REGISTER_ITEM(RuntimeEntry, "onnxruntime-web", "ONNX Runtime in WebAssembly, in Node",
                     {"onnxruntime_web.mjs", "mlas_plain", 0.0, true, false})
QUENCH_REGISTER_ITEM(RuntimeEntry, "openvino", "OpenVINO on the CPU",
                     {"openvino.py", "affine", 2e-5, false, true, {}, true})
QUENCH_REGISTER_ITEM(RuntimeEntry, "tract", "tract, in Rust: computes in float",
                     {"tract.py", "float", 1e-5, false, false})
QUENCH_REGISTER_ITEM(RuntimeEntry, "tvm", "Apache TVM on the CPU: computes in float",
                     {"tvm.py", "float", 1e-5, false, false})

}  // namespace quench
