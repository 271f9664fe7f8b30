// torch: what PyTorch's own engines run is an integer module, not a file of scales.
#include "quench/deploy.h"
#include "quench/error.h"

namespace quench {
namespace {

void refuse(const DeployJob& job, Deployment&) {
  fail("platform '", job.platform,
       "' has no files until integer conversion exists; --platform names another target that can run the plan");
}

}  // namespace

QUENCH_REGISTER_EXPORTER("torch", refuse,
                         "refused: PyTorch's engines need integer conversion, which does not exist yet")

}  // namespace quench
