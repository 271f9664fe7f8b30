// A plug-in that registers one name twice.
#include "quench/pass.h"

namespace quench {
namespace {

int nothing(Graph&) { return 0; }

}  // namespace

QUENCH_REGISTER_PASS("of_a_doubled_plugin", nothing, "never registered: the plug-in is refused as a whole")
QUENCH_REGISTER_PASS("of_a_doubled_plugin", nothing, "the same again")

}  // namespace quench
