// placeholder: torch's PlaceholderObserver. Carries a type (the scheme) for quantizing at run time, and finds no scale.
#include "observers/scaleless.h"

namespace quench {
namespace {

class Placeholder : public ScalelessObserver {
 public:
  Placeholder(const QScheme& scheme, const Options&) : ScalelessObserver(scheme) {}
  std::string remedy() const override {
    return "it only says that a tensor has its type at run time, and integers here need their scale beforehand; use "
           "'min_max', 'histogram' or another observer that looks at data";
  }
};

}  // namespace

QUENCH_REGISTER_ITEM(ObserverEntry, "placeholder", "carries a type and finds no scale (torch's PlaceholderObserver)",
                     {new_observer<Placeholder>, {}, true, false, false})

}  // namespace quench
