#include "data/same_data.h"

#include <ATen/ATen.h>

#include "core/counted.h"
#include "core/hash.h"
#include "core/joined.h"
#include "quench/data.h"
#include "quench/distributed.h"
#include "quench/error.h"

namespace quench {
namespace {

std::string name_at(const Dataset& data, std::int64_t index) {
  try {
    const Sample sample = data.get(index);
    return sample.label < 0 ? in_quotes(sample.name) : concat(in_quotes(sample.name), " of class ", sample.label);
  } catch (const Error&) {
    return "broken";  // whoever reads it in earnest says so
  }
}

// "200 items, '0' of class 3 to '199' of class 5", and the hash of all labels.
std::string description_of(const Dataset& data) {
  std::string text = counted(data.size(), "item");
  if (data.size() > 0) text += concat(", ", name_at(data, 0), " to ", name_at(data, data.size() - 1));
  std::string labels;
  for (const std::int64_t label : data.labels()) labels += concat(label, " ");
  return concat(text, labels.empty() ? "" : concat(", labels ", stable_hash(labels) % 10000));
}

}  // namespace

void check_same_data(const Processes* processes, const Dataset& data) {
  if (!processes || !processes->are_several()) return;
  const std::vector<std::string> all = processes->gather(description_of(data));
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    QUENCH_CHECK(all[rank] == all[0], "process ", rank, " of ", all.size(), " has other data (", all[rank],
                 ") than process 0 (", all[0], "): all must be given the same");
}

}  // namespace quench
