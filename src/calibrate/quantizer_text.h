// The quantizers of a model in the print of its module.
#pragma once

#include "calibrate/module_text.h"
#include "quench/quantized_model.h"

namespace quench {

// "activation_post_process" in the module that writes a value, "weight_fake_quant" in the layer; what belongs to no
// module comes last. Before calibration is finished they are observers alone.
void add_quantizers(ModuleText& root, const QuantizedModel& model, bool only_observe);

}  // namespace quench
