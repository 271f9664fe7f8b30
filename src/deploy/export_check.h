// Reads back what was exported and compares it with the model it was made from. The output of a faulty exporter must
// never reach a file.
#pragma once

#include "quench/deploy.h"

namespace quench {

// Every model among the files: its quantizers (deploy/quantizer_differences.h), and its outputs on the first
// items of `data`, or on random ones if that is null. Throws, naming file and tensor. What cannot be run here (unknown
// sizes) becomes a note.
void check_export(const Graph& ready, const Dataset* data, Deployment& deployment);

}  // namespace quench
