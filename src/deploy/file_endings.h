// How the files of a model are called: its name and one of these.
#pragma once

namespace quench {

inline constexpr const char* kCalibratedEnding = ".quench.onnx";  // the model that all others are made from
inline constexpr const char* kQuantizersEnding = "_quantizers.onnx";
inline constexpr const char* kQdqEnding = "_qdq.onnx";
inline constexpr const char* kQOperatorEnding = "_qoperator.onnx";
inline constexpr const char* kStrippedEnding = "_deploy_model.onnx";  // float with a side file, or FakeQuantize nodes

// Of all models that deployment writes.
inline constexpr const char* kDeployedEndings[] = {kQuantizersEnding, kQdqEnding, kQOperatorEnding, kStrippedEnding};

}  // namespace quench
