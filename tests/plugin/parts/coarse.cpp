// coarse: a reconstruction method in a plug-in. It rounds every weight to one code in `step`.
#include <ATen/ATen.h>

#include "quench/ptq_method.h"
#include "quench/quantizers.h"

namespace quench {
namespace {

void learn(UnitWork& work, UnitRecord& record) {
  for (const Node* node : work.weights()) {
    const at::Tensor step = node->input(1)->tensor().max() * work.options().number("step");
    work.commit(*node->input(0), at::round(node->input(0)->tensor() / step) * step);
    ++record.iterations;
  }
  record.note = "coarse";
}

}  // namespace

QUENCH_REGISTER_PTQ_METHOD("coarse", learn, "of a test: one code in a few", {{"step", 4.0, "how many"}}, "layer")

}  // namespace quench
