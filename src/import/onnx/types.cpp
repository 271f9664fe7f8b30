#include "import/onnx/types.h"

#include <quench_onnx.pb.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "ops/shape_rules.h"
#include "quench/error.h"

namespace quench {
namespace {

// "N" and "2*N*M" are symbols that dims can compute with. In any other expression ("N/2 + 3*M") the star
// must not be taken for a product of symbols, so it is written differently.
Dim symbol_of(const std::string& text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && at == end && number >= 0 && number <= kLargestDim) return Dim(number);
  if (text.empty() || text == "?") return {};
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '*' || c == '.' || c == ':';
  });
  std::string symbol = text;
  if (!plain) std::replace(symbol.begin(), symbol.end(), '*', 'x');
  return Dim::symbol(symbol);
}

Dims decode_dims(const quench_onnx::TensorShapeProto& shape) {
  Dims dims;
  for (const auto& dim : shape.dim()) {
    if (dim.has_dim_param()) {
      dims.push_back(symbol_of(dim.dim_param()));
    } else {
      QUENCH_CHECK(dim.dim_value() >= -1 && dim.dim_value() <= kLargestDim, "a dim of ", dim.dim_value(),
                   "; it must lie between 0 and ", kLargestDim, " (-1: not known)");
      dims.push_back(dim.has_dim_value() && dim.dim_value() >= 0 ? Dim(dim.dim_value()) : Dim());
    }
  }
  return dims;
}

bool knows_nothing(const TypeInfo& type) { return type.is_tensor() && type.dtype == DType::kUndefined && !type.dims; }

Dim merge_dim(const Dim& inferred, const Dim& declared, bool& fits) {
  if (inferred.is_unknown()) return declared;
  if (inferred.is_number() && declared.is_number()) fits = fits && inferred == declared;
  return inferred;
}

std::optional<Dims> merge_dims(const TypeInfo& inferred, const TypeInfo& declared, bool& fits) {
  if (!inferred.dims) return declared.dims;
  if (!declared.dims) return inferred.dims;
  fits = fits && inferred.dims->size() == declared.dims->size();
  if (!fits) return inferred.dims;
  Dims dims;
  for (std::size_t i = 0; i < inferred.dims->size(); ++i)
    dims.push_back(merge_dim((*inferred.dims)[i], (*declared.dims)[i], fits));
  return dims;
}

}  // namespace

TypeInfo decode_type(const quench_onnx::TypeProto& proto) {
  switch (proto.value_case()) {
    case quench_onnx::TypeProto::kTensorType: {
      const auto& tensor = proto.tensor_type();
      TypeInfo type =
          TypeInfo::tensor(tensor.elem_type() == 0 ? DType::kUndefined : dtype_from_onnx(tensor.elem_type()));
      if (tensor.has_shape()) type.dims = decode_dims(tensor.shape());
      return type;
    }
    case quench_onnx::TypeProto::kSequenceType:
      return TypeInfo::sequence(decode_type(proto.sequence_type().elem_type()));
    case quench_onnx::TypeProto::kOptionalType:
      return TypeInfo::optional(decode_type(proto.optional_type().elem_type()));
    case quench_onnx::TypeProto::kMapType: fail("map types are not supported");
    case quench_onnx::TypeProto::kSparseTensorType: fail("sparse tensors as values are not supported");
    case quench_onnx::TypeProto::kOpaqueType: fail("opaque types are not supported");
    case quench_onnx::TypeProto::VALUE_NOT_SET: break;
  }
  return {};
}

TypeInfo merge_types(const TypeInfo& inferred, const TypeInfo& declared, const std::string& value) {
  if (knows_nothing(declared)) return inferred;
  if (knows_nothing(inferred)) return declared;
  // A loop may begin with an absent value and end with one; the file says what it ends with.
  if (inferred.kind == TypeInfo::Kind::kOptional && inferred.element && declared.kind == inferred.element->kind)
    return merge_types(*inferred.element, declared, value);
  bool fits = inferred.kind == declared.kind;
  TypeInfo result = inferred;
  if (fits && !inferred.is_tensor()) {
    if (!inferred.element || !declared.element) return inferred.element ? inferred : declared;
    TypeInfo element = *declared.element;
    // What files say about the shape of a sequence's elements is often true only of the first.
    if (declared.kind == TypeInfo::Kind::kSequence) element.dims.reset();
    result.element = std::make_shared<const TypeInfo>(merge_types(*inferred.element, element, value));
    return result;
  }
  const bool both = inferred.dtype != DType::kUndefined && declared.dtype != DType::kUndefined;
  fits = fits && (!both || inferred.dtype == declared.dtype);
  if (fits && inferred.dtype == DType::kUndefined) result.dtype = declared.dtype;
  if (fits) result.dims = merge_dims(inferred, declared, fits);
  QUENCH_CHECK(fits, "the model says that '", value, "' is ", declared.text(), ", but it is ", inferred.text());
  return result;
}

}  // namespace quench
