// How quantizers are written in a graph and in ONNX files. Nothing outside this folder reads it.
#pragma once

namespace quench {

inline constexpr const char* kFakeQuantOp = "quench.FakeQuant";
inline constexpr const char* kQuantizeBiasOp = "quench.QuantizeBias";
// Of a quantizer's metadata.
inline constexpr const char* kCalibratedKey = "quench.calibrated";
inline constexpr const char* kObserverKey = "quench.observer";  // "mse;on=batch;p=2.4"
inline constexpr const char* kSharedWithKey = "shared_with";
// Of the model's metadata.
inline constexpr const char* kPlanKey = "quench.plan";
inline constexpr const char* kStageKey = "quench.stage";

}  // namespace quench
