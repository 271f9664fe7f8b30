// A plug-in that takes a name which exists, after one that does not.
#include "quench/observer.h"
#include "quench/pass.h"

namespace quench {
namespace {

int nothing(Graph&) { return 0; }

}  // namespace

QUENCH_REGISTER_PASS("of_a_clashing_plugin", nothing, "never registered: the plug-in is refused as a whole")
QUENCH_REGISTER_ITEM(ObserverEntry, "min_max", "a name that exists", {nullptr, {}})

}  // namespace quench
