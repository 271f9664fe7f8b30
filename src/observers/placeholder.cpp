// placeholder: torch's PlaceholderObserver. Carries a type (the scheme) for quantizing at run time, and finds no scale:
// what has it stays float (platforms/plan/unobserved.h).
#include "observers/scaleless.h"

namespace quench {
namespace {

class Placeholder : public ScalelessObserver {
 public:
  Placeholder(const QScheme& scheme, const Options&) : ScalelessObserver(scheme) {}
  std::string remedy() const override {
    return "as a setting it says of a tensor to keep it in float, and a plan has no entry for such a tensor; for "
           "integers use 'min_max', 'histogram' or another observer that looks at data";
  }
};

}  // namespace

QUENCH_REGISTER_ITEM(ObserverEntry, "placeholder", "carries a type and finds no scale (torch's PlaceholderObserver)",
                     {new_observer<Placeholder>, {}, true, false, false, true, false})

}  // namespace quench
