// Files that several exporters write.
#pragma once

#include "deploy/forms/qdq_graph.h"
#include "quench/deploy.h"

namespace quench {

// Replaces the file of that name, or appends it.
void put_file(Deployment& deployment, DeployFile file);

// N_qdq.onnx.
DeployFile qdq_file(const DeployJob& job, const QdqStyle& style = {});

}  // namespace quench
