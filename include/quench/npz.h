// NumPy's .npy and .npz files. Types that NumPy lacks (bfloat16, fp8, int4) are refused on writing,
// with the type to use instead; objects, text and records are refused on reading: no pickle is executed.
#pragma once

#include <map>
#include <string>

#include "quench/rt_value.h"

namespace quench {

// All arrays, in C order and this machine's byte order. Of an .npy: one entry named "array".
std::map<std::string, RtValue> read_npz(const std::string& path);

enum class NpzCompression : std::uint8_t { kStored, kDeflate };  // numpy.savez, numpy.savez_compressed

// Same arrays, same bytes. Written to a temporary file and renamed.
void write_npz(const std::string& path, const std::map<std::string, RtValue>& arrays,
               NpzCompression compression = NpzCompression::kStored);

}  // namespace quench
