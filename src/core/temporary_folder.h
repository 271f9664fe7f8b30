// Where files go that are gone when the program ends.
#pragma once

#include <string>

namespace quench {

std::string temporary_folder();  // TMPDIR, or the system's; throws if it is not there

}  // namespace quench
