#include "quench/dtype.h"

#include <array>

#include "core/joined.h"
#include "quench/error.h"

namespace quench {
namespace {

enum class Family : std::uint8_t { kOther, kFloating, kSigned, kUnsigned };
struct Facts {
  const char* name;
  int bits;
  Family family;
};

// Indexed by the ONNX number.
constexpr std::array<Facts, kDTypeCount> kFacts = {{
    {"undefined", 0, Family::kOther},
    {"float", 32, Family::kFloating},
    {"uint8", 8, Family::kUnsigned},
    {"int8", 8, Family::kSigned},
    {"uint16", 16, Family::kUnsigned},
    {"int16", 16, Family::kSigned},
    {"int32", 32, Family::kSigned},
    {"int64", 64, Family::kSigned},
    {"string", 0, Family::kOther},
    {"bool", 8, Family::kOther},
    {"float16", 16, Family::kFloating},
    {"double", 64, Family::kFloating},
    {"uint32", 32, Family::kUnsigned},
    {"uint64", 64, Family::kUnsigned},
    {"complex64", 64, Family::kOther},
    {"complex128", 128, Family::kOther},
    {"bfloat16", 16, Family::kFloating},
    {"float8e4m3fn", 8, Family::kFloating},
    {"float8e4m3fnuz", 8, Family::kFloating},
    {"float8e5m2", 8, Family::kFloating},
    {"float8e5m2fnuz", 8, Family::kFloating},
    {"uint4", 4, Family::kUnsigned},
    {"int4", 4, Family::kSigned},
    {"float4e2m1", 4, Family::kFloating},
    {"float8e8m0", 8, Family::kFloating},
    {"uint2", 2, Family::kUnsigned},
    {"int2", 2, Family::kSigned},
}};

const Facts& facts(DType dtype) { return kFacts[static_cast<std::size_t>(dtype)]; }

}  // namespace

const char* name_of(DType dtype) { return facts(dtype).name; }

DType dtype_from_name(const std::string& name) {
  for (std::size_t i = 0; i < kFacts.size(); ++i)
    if (name == kFacts[i].name) return static_cast<DType>(i);
  fail("unknown element type '", name, "'; known: ", joined(kFacts, ", ", [](const auto& one) { return one.name; }));
}

DType dtype_from_onnx(std::int64_t number) {
  QUENCH_CHECK(number > 0 && number < kDTypeCount, "element type ", number, " is not one of ONNX's (1 to ",
               kDTypeCount - 1, ")");
  return static_cast<DType>(number);
}

int bits_of(DType dtype) { return facts(dtype).bits; }
bool is_floating(DType dtype) { return facts(dtype).family == Family::kFloating; }
bool is_integer(DType dtype) {
  return facts(dtype).family == Family::kSigned || facts(dtype).family == Family::kUnsigned;
}
bool is_signed(DType dtype) { return facts(dtype).family == Family::kSigned || is_floating(dtype); }

}  // namespace quench
