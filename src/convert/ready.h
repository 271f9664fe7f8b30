// What every exporter may count on.
#pragma once

#include "quench/quantized_model.h"

namespace quench {

// A copy of a calibrated model's graph, with the plan as text: batch norms folded, stubs gone, computed weights made
// constants, outputs under the names of the float model (what their quantizer reads is then "<output>_float"). Throws
// if the model is not calibrated, if a quantizer is off, and for opaque nodes, by name.
Graph ready_for_deployment(const QuantizedModel& model);

}  // namespace quench
