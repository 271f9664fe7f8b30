// What quantize() learned, for readers: as JSON, for the model file, and as a report.
#pragma once

#include <string>

#include "quench/quantize.h"
#include "report/json.h"

namespace quench {

// What the model file carries: versions, seed, hashes, config. The same job gives the same text.
Json provenance_of(const QuantizeRecord& record);
// That, every scale, errors of layers, results and timings.
Json json_of(const QuantizeRecord& record);
// For people: accuracy, damage, what stayed float and why, sizes, time and memory.
std::string report_text(const QuantizeRecord& record);
// Its first part: the plan in short, and the accuracy.
std::string summary_text(const QuantizeRecord& record);

}  // namespace quench
