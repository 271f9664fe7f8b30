// Networks that PyTorch has converted to integers: its state dict and the module before conversion give a
// QuantizedModel with the very same codes and scales.
//
//   quench::QuantizedModel model = quench::make_quantized_model("mobilenet_v2", "mobilenet_v2_qnnpack.pth");
#pragma once

#include "quench/eager.h"
#include "quench/state_dict.h"
#include "quench/zoo.h"

namespace quench {

// `model` is the module as it was before conversion, in eval mode, with the qconfig of the file's backend and fused as
// it was there, and 8 bits for activations (a converted network uses all codes, whatever reduce_range made of its
// scales); its own weights do not matter. Throws for a layer without a weight or a scale in the file, for schemes that
// differ, and for what the file has beyond that, naming it.
QuantizedModel load_quantized_state(const EagerModel& model, const QuantizedState& state);

// torchvision.models.quantization.NAME(quantize=True): the quantizable form of a zoo model, fused, with the scales and
// weights of a converted state dict. Without a file it has fresh weights and is calibrated on one random image.
QuantizedModel make_quantized_model(const std::string& name, const std::string& weights = "",
                                    const std::string& backend = "qnnpack", const ZooOptions& options = {});

}  // namespace quench
