// From PyTorch's eager verbs to the graph path: a traced module with the quantizers that its qconfigs ask for.
#pragma once

#include "quench/prepare.h"

namespace quench {

class EagerModel;

// kFold: on copies of the module's tensors; else on its own.
QuantizedModel prepare_eager(const EagerModel& model, NormMode norm);

}  // namespace quench
