// What `quench verify` and `quench bench` found about a file of a run, kept in the run's folder for the HTML report.
#pragma once

#include <string>
#include <vector>

#include "report/json.h"

namespace quench {

inline constexpr const char* kVerifyFile = "verify.json";
inline constexpr const char* kBenchFile = "bench.json";

Json read_json(const std::string& path);  // throws, naming the file

// Adds `result` to the list in the folder of the run that wrote `file` (its own, or the one above), instead of an
// earlier one of the same file with the same values of `keys`. Nothing happens if no run's folder
// lists the file, or the folder is not ours to write into.
void keep_result(const std::string& file, const char* kept_in, Json result, const std::vector<std::string>& keys);

// The results in a run's folder, and those of files that `--json` printed. One of a file that has changed since has
// "outdated".
Json kept_results(const std::string& folder, const char* kept_in, const std::vector<std::string>& printed);

}  // namespace quench
