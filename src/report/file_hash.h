// What files a result came from: their SHA-1, so that a record can be checked with sha1sum.
#pragma once

#include <string>
#include <vector>

#include "quench/quantize.h"

namespace quench {

FileHash hash_file(const std::string& path);
// The files that a spec names: its path, and options that are paths (labels=...).
std::vector<FileHash> hash_data(const DatasetSpec& spec);

}  // namespace quench
