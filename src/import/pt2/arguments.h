// Arguments, sizes and types in the JSON of a torch.export archive.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "import/pt2/program.h"

namespace quench {

Pt2Arg read_pt2_argument(const nlohmann::json& argument);
Pt2Item read_pt2_item(const nlohmann::json& argument);  // of one that is not a list

DType pt2_dtype(std::int64_t number);  // torch.export's numbers, which are neither LibTorch's nor ONNX's
Pt2Symbol read_pt2_size(const nlohmann::json& sym_int);
TypeInfo read_pt2_type(const nlohmann::json& tensor_meta);

}  // namespace quench
