// reuse_input: torch's ReuseInputObserver. What a layer writes has the scale of what it reads: a plan makes a shared
// scale of it (platforms/plan/reuse_input.cpp), so that nothing is left to observe.
#include "observers/scaleless.h"

namespace quench {
namespace {

class ReuseInput : public ScalelessObserver {
 public:
  ReuseInput(const QScheme& scheme, const Options&) : ScalelessObserver(scheme) {}
  std::string remedy() const override {
    return "it stands for the scale of what the layer reads, which only the output of a layer with a quantized input "
           "has; name that value in the plan (shared_with), or use another observer";
  }
};

}  // namespace

QUENCH_REGISTER_ITEM(ObserverEntry, "reuse_input", "the scale of what the layer reads (torch's ReuseInputObserver)",
                     {new_observer<ReuseInput>, {}, true, false, false})

}  // namespace quench
