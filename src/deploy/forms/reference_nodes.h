// N_quantizers.onnx: the graph with its quantizers as nodes under the names that vendors' tools read.
// docs/platforms.md 5.1.
#pragma once

#include "quench/deploy.h"

namespace quench {

void add_reference_model(const DeployJob& job, Deployment& deployment);

}  // namespace quench
