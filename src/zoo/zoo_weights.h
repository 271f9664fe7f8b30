// Weights from files into networks of the zoo.
#pragma once

#include <string>

#include "quench/state_dict.h"
#include "quench/zoo.h"

namespace quench {

// Whether a tensor or module of torchvision's file is in one of ZooEntry::training_only.
bool is_training_only(const ZooEntry& entry, const std::string& name);

// load_state, but for those, which are ignored: torchvision drops them too once it has loaded them.
void load_zoo_weights(const std::string& name, ZooNet& net, TensorMap tensors);

}  // namespace quench
