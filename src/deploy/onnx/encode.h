// Tensors, types and attributes as ONNX messages.
#pragma once

#include <string>

#include "quench/graph.h"

namespace quench_onnx {
class AttributeProto;
class TensorProto;
class TypeProto;
}  // namespace quench_onnx

namespace quench {

// The elements as stored in a file: little-endian, codes of less than a byte packed.
std::string file_bytes(const at::Tensor& tensor, DType dtype);
std::int64_t file_size(const at::Tensor& tensor, DType dtype);

void encode_header(const at::Tensor& tensor, DType dtype, quench_onnx::TensorProto& proto);  // dtype and dims
void encode_tensor(const at::Tensor& tensor, DType dtype, quench_onnx::TensorProto& proto);  // with raw data
// Nothing is written for a tensor of unknown element type.
void encode_type(const TypeInfo& type, quench_onnx::TypeProto& proto);
bool is_known(const TypeInfo& type);

// All but graphs.
void encode_attribute(const Attr& attr, quench_onnx::AttributeProto& proto);

}  // namespace quench
