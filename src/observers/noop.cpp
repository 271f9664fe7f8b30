// noop: torch's NoopObserver. Sees nothing and finds no scale: what has it stays float (platforms/plan/unobserved.h).
#include "observers/scaleless.h"

namespace quench {
namespace {

class Noop : public ScalelessObserver {
 public:
  Noop(const QScheme& scheme, const Options&) : ScalelessObserver(scheme) {}
  std::string remedy() const override {
    return "as a setting it says of a tensor to keep it in float; a plan has no entry for such a tensor";
  }
};

}  // namespace

QUENCH_REGISTER_ITEM(ObserverEntry, "noop", "sees nothing and finds no scale (torch's NoopObserver)",
                     {new_observer<Noop>, {}, true, false, false, true, false})

}  // namespace quench
