// One case of ONNX's conformance suites: a folder with model.onnx and test_data_set_*/{input,output}_*.pb.
// Imports it, runs it, compares outputs and inferred types, and takes it through export and import again.
#pragma once

#include <string>

namespace quench {

// Empty when the case passes, else one line that says why it does not.
std::string run_conformance_case(const std::string& folder);

}  // namespace quench
