// A data spec in a config file: the spec string, or the same as a map.
#pragma once

#include "quench/data.h"

namespace YAML {
class Node;
}

namespace quench {

// "cifar10:FILE?norm=imagenet", or {kind: cifar10, path: FILE, norm: imagenet}; numbers may be a list: mean: [0.5,
// 0.5]. Throws for a kind or key that is not known (with the nearest) and for what cannot be a spec, with the line.
DatasetSpec spec_from_yaml(const YAML::Node& node);

}  // namespace quench
