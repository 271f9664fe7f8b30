// Histograms of tensors as the HTML report's page takes them.
#pragma once

#include "quench/tensor_histogram.h"
#include "report/json.h"

namespace quench {

// Ranges of more than 512 channels are given for groups of neighbours.
Json json_of(const TensorHistogram& histogram);
Json json_of(const std::vector<TensorHistogram>& histograms);

}  // namespace quench
