// Every key of a job file in quench's own schema, with one line on each: what `quench list keys` prints and
// docs/reference.md holds.
#pragma once

#include <map>
#include <string>

namespace quench {

// "train.optimizer.lr" -> "highest learning rate (default: 0.01)". Entries of a list are
// "layers[].match"; "settings.bits" is any of defaults.weight.bits, layers[].weight.bits and their like.
std::map<std::string, std::string> config_keys();

}  // namespace quench
