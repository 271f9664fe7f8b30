// targets=KIND:PATH, for every kind of data: what metrics hold the outputs against (quench/targets.h).
#pragma once

#include <memory>

#include "quench/data.h"

namespace quench {

// `data` as it is where the spec has no such option.
std::unique_ptr<Dataset> with_targets(const DatasetSpec& spec, std::unique_ptr<Dataset> data);

}  // namespace quench
