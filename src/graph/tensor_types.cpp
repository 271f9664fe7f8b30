#include "graph/tensor_types.h"

#include <ATen/ATen.h>

#include <cstring>

#include "quench/error.h"

namespace quench {

c10::ScalarType scalar_type_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat: return at::kFloat;
    case DType::kUint8: return at::kByte;
    case DType::kInt8: return at::kChar;
    case DType::kUint16: return at::kUInt16;
    case DType::kInt16: return at::kShort;
    case DType::kInt32: return at::kInt;
    case DType::kInt64: return at::kLong;
    case DType::kBool: return at::kBool;
    case DType::kFloat16: return at::kHalf;
    case DType::kDouble: return at::kDouble;
    case DType::kUint32: return at::kUInt32;
    case DType::kUint64: return at::kUInt64;
    case DType::kComplex64: return at::kComplexFloat;
    case DType::kComplex128: return at::kComplexDouble;
    case DType::kBfloat16: return at::kBFloat16;
    case DType::kFloat8E4M3Fn: return at::kFloat8_e4m3fn;
    case DType::kFloat8E4M3Fnuz: return at::kFloat8_e4m3fnuz;
    case DType::kFloat8E5M2: return at::kFloat8_e5m2;
    case DType::kFloat8E5M2Fnuz: return at::kFloat8_e5m2fnuz;
    case DType::kInt4:
    case DType::kInt2: return at::kChar;
    case DType::kUint4:
    case DType::kUint2:
    case DType::kFloat4E2M1:
    case DType::kFloat8E8M0: return at::kByte;
    case DType::kString:
    case DType::kUndefined: break;
  }
  fail("element type ", name_of(dtype), " has no tensor form");
}

DType dtype_of(c10::ScalarType type) {
  for (int i = 1; i < static_cast<int>(DType::kUint4); ++i) {
    const auto dtype = static_cast<DType>(i);
    if (dtype != DType::kString && scalar_type_of(dtype) == type) return dtype;
  }
  fail("LibTorch's type ", c10::toString(type), " has no ONNX counterpart");
}

DType dtype_of(const at::Tensor& tensor) { return dtype_of(tensor.scalar_type()); }

Dims dims_of(const at::Tensor& tensor) { return Dims(tensor.sizes().begin(), tensor.sizes().end()); }

std::vector<std::int64_t> integers_of(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.detach().to(at::kCPU, at::kLong).contiguous();
  const auto* data = flat.const_data_ptr<std::int64_t>();
  return {data, data + flat.numel()};
}

at::Tensor integer_tensor(const std::vector<std::int64_t>& values) {
  at::Tensor tensor = at::empty({static_cast<std::int64_t>(values.size())}, at::kLong);
  std::copy(values.begin(), values.end(), tensor.mutable_data_ptr<std::int64_t>());
  return tensor;
}

bool bit_equal(const at::Tensor& a, const at::Tensor& b) {
  if (a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes()) return false;
  const at::Tensor left = a.detach().cpu().contiguous(), right = b.detach().cpu().contiguous();
  return left.nbytes() == 0 || std::memcmp(left.const_data_ptr(), right.const_data_ptr(), left.nbytes()) == 0;
}

}  // namespace quench
