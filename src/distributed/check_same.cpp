#include "distributed/check_same.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "core/joined.h"
#include "distributed/signs_of_life.h"
#include "quench/distributed.h"
#include "quench/error.h"

namespace quench {
namespace {

// "a:\n  - b: 1" -> {"a.b: 1"}: each line with the keys that it stands under.
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::vector<std::pair<std::size_t, std::string>> parents;  // where a key stands, and the key
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
    if (line.compare(begin, 2, "- ") == 0) begin += 2;  // an item of a list
    while (!parents.empty() && parents.back().first >= begin) parents.pop_back();
    std::string path;
    for (const auto& [at, key] : parents) path += key + ".";
    if (line.ends_with(':'))
      parents.emplace_back(begin, line.substr(begin, line.size() - begin - 1));
    else
      lines.push_back(path + line.substr(begin));
  }
  return lines;
}

// The lines that are not among the others.
std::vector<std::string> without(std::vector<std::string> lines, const std::vector<std::string>& others) {
  std::erase_if(lines, [&](const auto& line) { return std::find(others.begin(), others.end(), line) != others.end(); });
  return lines;
}

// " (b: 1) than rank 0 (b: 2)", by the lines that only one of them has.
std::string difference(const std::string& text, const std::string& of_first) {
  const std::vector<std::string> lines = lines_of(text), firsts = lines_of(of_first);
  const std::vector<std::string> more = without(lines, firsts), fewer = without(firsts, lines);
  const auto said = [](const std::vector<std::string>& some) { return some.empty() ? "none" : joined(some); };
  if (!more.empty() || !fewer.empty()) return concat(" (", said(more), ") than rank 0 (", said(fewer), ")");
  const auto [one, other] = std::mismatch(lines.begin(), lines.end(), firsts.begin(), firsts.end());
  if (one == lines.end() || other == firsts.end()) return " than rank 0 (some are repeated)";
  return concat(" than rank 0 (the same in another order: '", *one, "' where rank 0 has '", *other, "')");
}

}  // namespace

void check_same(const Processes* processes, const std::string& what, const std::function<std::string()>& description) {
  if (!processes || !processes->are_several()) return;
  const std::vector<std::string> all = processes->gather(description());
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    QUENCH_CHECK(all[rank] == all[0], name_of_process(static_cast<int>(rank), static_cast<int>(all.size())),
                 " has other ", what, difference(all[rank], all[0]), ": all must be given the same");
}

}  // namespace quench
