// Tensors of an ONNX file: every encoding (raw, typed fields, external data, packed codes, sparse) to a
// LibTorch tensor plus our DType. Sizes are checked before anything is allocated.
#pragma once

#include <string>

#include "import/onnx/external.h"
#include "quench/graph.h"
#include "quench/rt_value.h"

namespace quench_onnx {
class TensorProto;
class SparseTensorProto;
}  // namespace quench_onnx

namespace quench {

TensorAttr decode_tensor(const quench_onnx::TensorProto& proto, const ExternalData& external);
TensorAttr decode_sparse_tensor(const quench_onnx::SparseTensorProto& proto, const ExternalData& external);

// One file of a test case (input_0.pb): a TensorProto, SequenceProto or OptionalProto, as `type` says.
RtValue read_onnx_value(const std::string& path, const TypeInfo& type);

}  // namespace quench
