// noop: torch's NoopObserver. Sees nothing and finds no scale.
#include "observers/scaleless.h"

namespace quench {
namespace {

class Noop : public ScalelessObserver {
 public:
  Noop(const QScheme& scheme, const Options&) : ScalelessObserver(scheme) {}
  std::string remedy() const override {
    return "a tensor that nothing is to be known about stays float; give its layer no qconfig, or keep it in float";
  }
};

}  // namespace

QUENCH_REGISTER_ITEM(ObserverEntry, "noop", "sees nothing and finds no scale (torch's NoopObserver)",
                     {new_observer<Noop>, {}, true, false, false})

}  // namespace quench
