// What opsets 1 to 6 expressed differently: attributes that later meant nothing, types by name, powers as floats.
#include <algorithm>
#include <cctype>
#include <cmath>

#include "import/upgrade/rule.h"
#include "quench/error.h"

namespace quench {
namespace {

void drop_consumed_inputs(Graph&, Node& node) { node.attrs.erase("consumed_inputs"); }

void drop_output_sequence(Graph&, Node& node) { node.attrs.erase("output_sequence"); }

void cast_6(Graph&, Node& node) {
  std::string name = node.get_string("to", "");
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  node.attrs["to"] = static_cast<std::int64_t>(dtype_from_name(name));
}

void power_2(Graph&, Node& node) {
  const double p = node.get_float("p", 2.0);
  QUENCH_CHECK(p == std::floor(p), "p=", p, " is not a whole number, as opset 2 demands");
  node.attrs["p"] = static_cast<std::int64_t>(p);
}

// Selu has a rule of its own for 6.
[[maybe_unused]] const bool registered = [] {
  for (const char* op : {"Abs",       "Add",         "BatchNormalization",
                         "Ceil",      "Clip",        "Div",
                         "Dropout",   "Elu",         "Exp",
                         "Floor",     "HardSigmoid", "InstanceNormalization",
                         "LeakyRelu", "Log",         "Max",
                         "Mean",      "Min",         "Mul",
                         "Neg",       "PRelu",       "Reciprocal",
                         "Relu",      "Sigmoid",     "Sqrt",
                         "Sub",       "Sum",         "Tanh"})
    UpgradeRegistry::instance().add(concat(op, "@6"), {drop_consumed_inputs}, "consumed_inputs goes", __FILE__);
  for (const char* op : {"RNN", "LSTM", "GRU"})
    UpgradeRegistry::instance().add(concat(op, "@7"), {drop_output_sequence}, "output_sequence goes", __FILE__);
  return true;
}();

}  // namespace

QUENCH_REGISTER_UPGRADE("Cast@6", cast_6, "the type is a number, not a name")
QUENCH_REGISTER_UPGRADE("LpPool@2", power_2, "p is an integer")
QUENCH_REGISTER_UPGRADE("GlobalLpPool@2", power_2, "p is an integer")

}  // namespace quench
