#include "zoo/pickle_globals.h"

#include <ATen/ATen.h>

#include <map>
#include <set>

namespace quench {
namespace {

using DTypes = std::map<std::string, at::ScalarType>;

std::optional<at::ScalarType> find(const DTypes& types, const std::string& name) {
  const auto at = types.find(name);
  return at == types.end() ? std::nullopt : std::optional(at->second);
}

}  // namespace

std::optional<at::ScalarType> storage_dtype(const std::string& global) {
  static const DTypes types = {
      {"torch.FloatStorage", at::kFloat},
      {"torch.DoubleStorage", at::kDouble},
      {"torch.HalfStorage", at::kHalf},
      {"torch.BFloat16Storage", at::kBFloat16},
      {"torch.LongStorage", at::kLong},
      {"torch.IntStorage", at::kInt},
      {"torch.ShortStorage", at::kShort},
      {"torch.CharStorage", at::kChar},
      {"torch.ByteStorage", at::kByte},
      {"torch.BoolStorage", at::kBool},
      {"torch.ComplexFloatStorage", at::kComplexFloat},
      {"torch.ComplexDoubleStorage", at::kComplexDouble},
      {"torch.QInt8Storage", at::kChar},
      {"torch.QUInt8Storage", at::kByte},
      {"torch.QInt32Storage", at::kInt},
      {kUntypedStorage, at::kByte},
  };
  return find(types, global);
}

std::optional<at::ScalarType> torch_dtype(const std::string& global) {
  static const DTypes types = {
      {"torch.float32", at::kFloat},
      {"torch.float64", at::kDouble},
      {"torch.float16", at::kHalf},
      {"torch.bfloat16", at::kBFloat16},
      {"torch.int64", at::kLong},
      {"torch.int32", at::kInt},
      {"torch.int16", at::kShort},
      {"torch.int8", at::kChar},
      {"torch.uint8", at::kByte},
      {"torch.uint16", at::kUInt16},
      {"torch.uint32", at::kUInt32},
      {"torch.uint64", at::kUInt64},
      {"torch.bool", at::kBool},
      {"torch.complex64", at::kComplexFloat},
      {"torch.complex128", at::kComplexDouble},
      {"torch.float8_e4m3fn", at::kFloat8_e4m3fn},
      {"torch.float8_e4m3fnuz", at::kFloat8_e4m3fnuz},
      {"torch.float8_e5m2", at::kFloat8_e5m2},
      {"torch.float8_e5m2fnuz", at::kFloat8_e5m2fnuz},
      {"torch.float8_e8m0fnu", at::kFloat8_e8m0fnu},
  };
  return find(types, global);
}

bool is_code_dtype(const std::string& global) {
  return global == "torch.qint8" || global == "torch.quint8" || global == "torch.qint32";
}

bool is_allowed_global(const std::string& name) {
  static const std::set<std::string> functions = {kOrderedDict,     kRebuildTensor2,   kRebuildTensor3,
                                                  kRebuildQTensor,  kRebuildParameter, kRestoreTypeTag,
                                                  kPerTensorAffine, kPerChannelAffine};
  return functions.contains(name) || storage_dtype(name) || torch_dtype(name) || is_code_dtype(name);
}

}  // namespace quench
