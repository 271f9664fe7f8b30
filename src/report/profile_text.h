// A profile for readers: JSON, and a table.
#pragma once

#include <string>

#include "quench/profile.h"
#include "report/json.h"

namespace quench {

Json json_of(const ProfileRecord& record);  // without the time that it took

// Worst first; at most `rows` layers, 0: all. In a terminal of so many columns the less important ones are left out; 0:
// all of them.
std::string profile_table(const ProfileRecord& record, std::size_t rows = 0, std::size_t columns = 0);

}  // namespace quench
