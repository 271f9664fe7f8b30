// Local functions of an ONNX model: every call is replaced by the function's nodes.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace quench_onnx {
class ModelProto;
}

namespace quench {

// Also in bodies and in other functions. Names of the function's inside become unique, after the call.
// Throws for a function that calls itself, and if the expanded model would be absurdly large.
// `opsets` is the model's; domains that only functions import are added.
void inline_functions(quench_onnx::ModelProto& model, std::map<std::string, std::int64_t>& opsets);

}  // namespace quench
