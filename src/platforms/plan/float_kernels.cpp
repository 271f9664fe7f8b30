#include <map>

#include "quench/error.h"
#include "quench/platform.h"

namespace quench {

std::vector<std::string> float_kernel_notes(const QuantPlan& plan) {
  const Platform& platform = find_platform(plan.platform);
  std::map<std::string, std::vector<std::string>> values;  // by reason
  for (const PlanEntry& entry : plan.entries) {
    const std::string reason = platform.float_kernels ? platform.float_kernels(entry) : "";
    if (!reason.empty()) values[reason].push_back(entry.value);
  }
  std::vector<std::string> notes;
  for (const auto& [reason, names] : values)
    notes.push_back(concat(reason, ": ", names.size(), names.size() == 1 ? " tensor ('" : " tensors ('", names.front(),
                           names.size() == 1 ? "')" : "' ...)"));
  return notes;
}

}  // namespace quench
