// The names that a pickle of tensors may refer to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace c10 {
enum class ScalarType : std::int8_t;
}

namespace quench {

inline constexpr const char* kOrderedDict = "collections.OrderedDict";
inline constexpr const char* kRebuildTensor2 = "torch._utils._rebuild_tensor_v2";
inline constexpr const char* kRebuildTensor3 = "torch._utils._rebuild_tensor_v3";
inline constexpr const char* kRebuildQTensor = "torch._utils._rebuild_qtensor";
inline constexpr const char* kPerTensorAffine = "torch.per_tensor_affine";
inline constexpr const char* kPerChannelAffine = "torch.per_channel_affine";
inline constexpr const char* kRebuildParameter = "torch._utils._rebuild_parameter";
inline constexpr const char* kRestoreTypeTag = "torch.jit._pickle.restore_type_tag";  // by LibTorch's pickle_save
inline constexpr const char* kUntypedStorage = "torch.storage.UntypedStorage";

bool is_allowed_global(const std::string& name);
std::optional<c10::ScalarType> storage_dtype(
    const std::string& global);  // of "torch.FloatStorage"; codes as plain integers; untyped: bytes
std::optional<c10::ScalarType> torch_dtype(const std::string& global);  // of "torch.float8_e4m3fn"
bool is_code_dtype(const std::string& global);  // "torch.qint8": state dicts of quantized layers name it

}  // namespace quench
