#include "deploy/onnx/encode.h"

#include <ATen/ATen.h>
#include <quench_onnx.pb.h>

#include "quench/error.h"

namespace quench {
namespace {

using quench_onnx::AttributeProto;

// Several codes per byte, the first in the lowest bits.
std::string pack(const at::Tensor& codes, int bits) {
  const int per_byte = 8 / bits;
  const auto mask = static_cast<std::uint8_t>((1 << bits) - 1);
  const auto* from = static_cast<const std::uint8_t*>(codes.const_data_ptr());
  std::string bytes(static_cast<std::size_t>((codes.numel() + per_byte - 1) / per_byte), '\0');
  for (std::int64_t i = 0; i < codes.numel(); ++i) {
    char& byte = bytes[static_cast<std::size_t>(i / per_byte)];
    byte = static_cast<char>(static_cast<std::uint8_t>(byte) | (from[i] & mask) << (i % per_byte * bits));
  }
  return bytes;
}

void encode_dims(const Dims& dims, quench_onnx::TensorShapeProto& shape) {
  for (const Dim& dim : dims) {
    auto* to = shape.add_dim();
    if (dim.is_number()) to->set_dim_value(dim.number());
    if (dim.is_symbol()) to->set_dim_param(dim.symbol());
  }
}

struct AttributeEncoder {
  AttributeProto& proto;

  void operator()(std::int64_t number) const {
    proto.set_type(AttributeProto::INT);
    proto.set_i(number);
  }
  void operator()(double number) const {
    proto.set_type(AttributeProto::FLOAT);
    proto.set_f(static_cast<float>(number));
  }
  void operator()(const std::string& text) const {
    proto.set_type(AttributeProto::STRING);
    proto.set_s(text);
  }
  void operator()(const TensorAttr& tensor) const {
    proto.set_type(AttributeProto::TENSOR);
    encode_tensor(*tensor.tensor, tensor.dtype, *proto.mutable_t());
  }
  void operator()(const TypeInfo& type) const {
    proto.set_type(AttributeProto::TYPE_PROTO);
    encode_type(type, *proto.mutable_tp());
  }
  void operator()(const std::vector<std::int64_t>& numbers) const {
    proto.set_type(AttributeProto::INTS);
    for (const std::int64_t number : numbers) proto.add_ints(number);
  }
  void operator()(const std::vector<double>& numbers) const {
    proto.set_type(AttributeProto::FLOATS);
    for (const double number : numbers) proto.add_floats(static_cast<float>(number));
  }
  void operator()(const std::vector<std::string>& texts) const {
    proto.set_type(AttributeProto::STRINGS);
    for (const std::string& text : texts) proto.add_strings(text);
  }
  void operator()(const std::vector<TensorAttr>& tensors) const {
    proto.set_type(AttributeProto::TENSORS);
    for (const TensorAttr& tensor : tensors) encode_tensor(*tensor.tensor, tensor.dtype, *proto.add_tensors());
  }
  void operator()(const GraphPtr&) const { fail("a graph cannot be encoded as an attribute by itself"); }
  void operator()(const std::vector<GraphPtr>&) const {
    fail("graphs cannot be encoded as an attribute by themselves");
  }
};

}  // namespace

std::string file_bytes(const at::Tensor& tensor, DType dtype) {
  const at::Tensor plain = tensor.detach().cpu().contiguous();
  if (bits_of(dtype) < 8) return pack(plain, bits_of(dtype));
  return plain.nbytes() == 0 ? "" : std::string(static_cast<const char*>(plain.const_data_ptr()), plain.nbytes());
}

std::int64_t file_size(const at::Tensor& tensor, DType dtype) { return (tensor.numel() * bits_of(dtype) + 7) / 8; }

void encode_header(const at::Tensor& tensor, DType dtype, quench_onnx::TensorProto& proto) {
  proto.set_data_type(static_cast<int>(dtype));
  for (const std::int64_t dim : tensor.sizes()) proto.add_dims(dim);
}

void encode_tensor(const at::Tensor& tensor, DType dtype, quench_onnx::TensorProto& proto) {
  encode_header(tensor, dtype, proto);
  proto.set_raw_data(file_bytes(tensor, dtype));
}

bool is_known(const TypeInfo& type) {
  return type.is_tensor() ? type.dtype != DType::kUndefined : type.element && is_known(*type.element);
}

void encode_type(const TypeInfo& type, quench_onnx::TypeProto& proto) {
  if (!is_known(type)) return;
  switch (type.kind) {
    case TypeInfo::Kind::kTensor:
      proto.mutable_tensor_type()->set_elem_type(static_cast<int>(type.dtype));
      if (type.dims) encode_dims(*type.dims, *proto.mutable_tensor_type()->mutable_shape());
      return;
    case TypeInfo::Kind::kSequence:
      return encode_type(*type.element, *proto.mutable_sequence_type()->mutable_elem_type());
    case TypeInfo::Kind::kOptional:
      return encode_type(*type.element, *proto.mutable_optional_type()->mutable_elem_type());
  }
}

void encode_attribute(const Attr& attr, AttributeProto& proto) { std::visit(AttributeEncoder{proto}, attr); }

}  // namespace quench
