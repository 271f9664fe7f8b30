// torch: what PyTorch's own engines run is an integer module, not a file of scales.
#include "quench/deploy.h"

namespace quench {

QUENCH_REGISTER_EXPORTER("torch", nullptr,
                         "refused: PyTorch's engines need integer conversion, which does not exist yet", {},
                         IoTypes::kModel, "until integer conversion exists")

}  // namespace quench
