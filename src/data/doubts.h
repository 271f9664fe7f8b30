// Signs that data and model do not belong together: each is legal, and hardly ever meant.
#pragma once

#include <string>
#include <vector>

#include "quench/data.h"

namespace quench {

// The first items hold one and the same number everywhere: nothing can be learned from them.
std::vector<std::string> doubts_about_values(const Dataset& data);
// Another number of classes than the model has: labels count the class folders.
std::vector<std::string> doubts_about_classes(const Dataset& data, const Graph& model);
// Photographs for a model of small pictures: they are shrunk to its size, as nobody asked for another one.
std::vector<std::string> doubts_about_size(const DatasetSpec& spec, const Graph& model);

}  // namespace quench
