// What reconstruction did, unit by unit, for people and programs.
#pragma once

#include <string>
#include <vector>

#include "quench/reconstruct.h"
#include "report/json.h"

namespace quench {

// One line as a unit ends: "layer1.0 (3 of 11): error 0.0123 -> 0.0045, 20000 iterations, 35.2 s".
std::string unit_line(const UnitRecord& unit, std::size_t index, std::size_t count);
std::string units_table(const ReconstructionRecord& record);
// One line; `item` is what the data consists of ("item").
std::string reconstruction_summary(const ReconstructionRecord& record, const std::string& item);
Json json_of(const ReconstructionRecord& record);

// Units before any work: what `quench inspect --units` prints.
std::string units_text(const std::vector<Unit>& units);
Json json_of(const std::vector<Unit>& units);

}  // namespace quench
