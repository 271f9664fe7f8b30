#include "distributed/check_same.h"

#include <algorithm>
#include <sstream>

#include "core/joined.h"
#include "distributed/signs_of_life.h"
#include "quench/distributed.h"
#include "quench/error.h"

namespace quench {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    lines.push_back(line.substr(std::min(line.find_first_not_of(' '), line.size())));
  return lines;
}

// The lines of one text that the other one has not.
std::string without_those_of(const std::string& text, const std::string& other) {
  std::vector<std::string> lines = lines_of(text);
  const std::vector<std::string> others = lines_of(other);
  std::erase_if(lines, [&](const auto& line) { return std::find(others.begin(), others.end(), line) != others.end(); });
  return lines.empty() ? "none" : joined(lines);
}

}  // namespace

void check_same(const Processes* processes, const std::string& what, const std::function<std::string()>& description) {
  if (!processes || !processes->are_several()) return;
  const std::vector<std::string> all = processes->gather(description());
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    QUENCH_CHECK(all[rank] == all[0], name_of_process(static_cast<int>(rank), static_cast<int>(all.size())),
                 " has other ", what, " (", without_those_of(all[rank], all[0]), ") than rank 0 (",
                 without_those_of(all[0], all[rank]), "): all must be given the same");
}

}  // namespace quench
