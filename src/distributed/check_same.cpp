#include "distributed/check_same.h"

#include "distributed/signs_of_life.h"
#include "quench/distributed.h"
#include "quench/error.h"

namespace quench {

void check_same(const Processes* processes, const std::string& what, const std::function<std::string()>& description) {
  if (!processes || !processes->are_several()) return;
  const std::vector<std::string> all = processes->gather(description());
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    QUENCH_CHECK(all[rank] == all[0], name_of_process(static_cast<int>(rank), static_cast<int>(all.size())),
                 " has other ", what, " (", all[rank], ") than rank 0 (", all[0], "): all must be given the same");
}

}  // namespace quench
