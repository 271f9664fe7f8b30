// Element types: all of ONNX's. The numbers are those of ONNX's TensorProto.DataType and reach files:
// do not change them.
#pragma once

#include <cstdint>
#include <string>

namespace quench {

enum class DType : std::uint8_t {
  kUndefined = 0,
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBfloat16 = 16,
  kFloat8E4M3Fn = 17,
  kFloat8E4M3Fnuz = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2Fnuz = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUint2 = 25,
  kInt2 = 26,
};
inline constexpr int kDTypeCount = 27;

const char* name_of(DType dtype);                // "float", "int4", "float8e4m3fn": ONNX's names in lower case
DType dtype_from_name(const std::string& name);  // throws, with the known names
DType dtype_from_onnx(std::int64_t number);      // throws for a number that is not an ONNX type
int bits_of(DType dtype);                        // of one element in a file: 32 for float, 4 for int4; 0 for string
bool is_floating(DType dtype);                   // fp64 to fp4
bool is_integer(DType dtype);                    // int64 to int2, signed or not; not bool
bool is_signed(DType dtype);

}  // namespace quench
