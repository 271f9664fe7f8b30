#pragma once

#include "quench/graph.h"

namespace quench {

// OpenVINO's FakeQuantize (domain org.openvinotoolkit) as a quantizer under a vendor's name, which
// read_vendor_quantizers() takes: where its ranges are constants, the same before and after, and hold zero as a code.
// Others stay unchanged: no quantizer of ours does what they do.
void read_fake_quantize(Graph& graph);

}  // namespace quench
