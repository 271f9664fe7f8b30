// How quantizers are written in a graph and in ONNX files. Nothing outside this folder reads it.
#pragma once

namespace quench {

inline constexpr const char* kFakeQuantOp = "quench.FakeQuant";
inline constexpr const char* kQuantizeBiasOp = "quench.QuantizeBias";
// The quantizer of v is "v.fq", its tensors "v.fq.scale" ...
inline constexpr const char* kNameEnding = ".fq";
// Of the model's metadata.
inline constexpr const char* kFormatKey = "quench.format";
inline constexpr const char* kPlanKey = "quench.plan";
inline constexpr const char* kStageKey = "quench.stage";
// "quench.float_output:y" = "y_float" in a deployed file: the name of what the quantizer of output y reads.
inline constexpr const char* kFloatOutputKey = "quench.float_output:";
inline constexpr const char* kOldPrepared = "inserted";  // the stage in older files
// Of a quantizer's metadata in older files, which said on the nodes what plan and stage say.
inline constexpr const char* kOldMarks[] = {"quench.calibrated", "quench.observer", "shared_with"};

}  // namespace quench
