// infer_shapes: the static type of every value, from the graph's inputs onwards.
#include "quench/op.h"
#include "quench/pass.h"

namespace quench {

QUENCH_REGISTER_PASS("infer_shapes", infer_shapes, "fills element types and dims from the inputs onwards")

}  // namespace quench
