// A torch.export program as LibTorch itself computes it: call by call through its dispatcher, by the operators' own
// schemas. The table that importing uses plays no part.
#pragma once

#include <map>
#include <string>

#include "import/pt2/program.h"
#include "import/pt2/weights.h"

namespace quench {

// Every tensor of the program, as it is after the last call, with these tensors for its inputs.
std::map<std::string, at::Tensor> run_pt2_reference(const Pt2Program& program, Pt2Weights& weights,
                                                    const std::vector<at::Tensor>& inputs);

}  // namespace quench
