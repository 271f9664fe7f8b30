// One case of ONNX's conformance suites: a folder with model.onnx and test_data_set_*/{input,output}_*.pb.
// Imports it, runs it, compares outputs and inferred types, and takes it through export and import again.
#pragma once

#include <array>
#include <string>

#include "e2e/conformance_shapes.h"

namespace quench {

struct CaseResult {
  std::string failure;                        // one line; empty when the case passes
  std::int64_t opset = 0;                     // of ONNX's own domain
  std::array<ShapeCount, kToldCount> shapes;  // by Told
};

CaseResult run_conformance_case(const std::string& folder);

}  // namespace quench
