// NumPy's .npy and .npz files. Types that NumPy has not (bfloat16, fp8, int4) are refused on writing,
// with the type that would do.
#pragma once

#include <map>
#include <string>

#include "quench/rt_value.h"

namespace quench {

std::map<std::string, RtValue> read_npz(const std::string& path);  // of an .npy: one entry named "array"
void write_npz(const std::string& path, const std::map<std::string, RtValue>& arrays);  // written beside and renamed

}  // namespace quench
