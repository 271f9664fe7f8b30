// From PyTorch's eager verbs to the graph path: a traced module with the quantizers that its qconfigs ask for.
#pragma once

#include "quench/prepare.h"

namespace quench {

class EagerModel;

// On the module's own tensors, or on copies.
QuantizedModel prepare_eager(const EagerModel& model, NormMode norm, bool shares_tensors);

// Of a model that is being calibrated by verbs: what watches this value. Null if nothing does.
const Observer* observer_at_work(const QuantizedModel& model, const std::string& value);

}  // namespace quench
