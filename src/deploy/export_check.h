// What was exported, read back and compared with the model that it was made of. An exporter that is wrong must not get
// as far as a file.
#pragma once

#include "quench/deploy.h"

namespace quench {

// Every model among the files: its quantizers (deploy/quantizer_differences.h), and its outputs on the first
// items of `data`, or on random ones where that is null. Throws, naming file and tensor. What cannot be run here (sizes
// that nothing tells) becomes a note.
void check_export(const Graph& ready, const Dataset* data, Deployment& deployment);

}  // namespace quench
