// Several processes take shares of one thing: each must have the same one.
#pragma once

#include <functional>
#include <string>

namespace quench {

class Processes;

// Throws in all of them if what one says of its `what` ("data") is not what the first one says, and names the lines
// that differ. Not asked if there is only one, or none.
void check_same(const Processes* processes, const std::string& what, const std::function<std::string()>& description);

}  // namespace quench
