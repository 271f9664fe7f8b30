// How a module with quantizers is printed: PyTorch's way.
#pragma once

#include "calibrate/module_text.h"
#include "quench/quantized_model.h"

namespace quench {

class EagerModel;

// The module as prepare_qat changes it: layers and norms that train as one are fused, named or not.
ModuleText prepared_text(const EagerModel& source, QuantizedModel& model);

}  // namespace quench
