#include "report/result_file.h"

#include <algorithm>

#include "report/quantize_record.h"

namespace quench {

Graph result_file(const Quantized& result) {
  Graph file = with_plan_text(result.model);
  file.metadata["quench.record"] = provenance_of(result.record).dump();
  return file;
}

QuantPlan plan_of_float_model(const QuantizeRecord& record) {
  QuantPlan plan = *record.plan;
  if (!record.smoothed) return plan;
  for (const SmoothedTensor& one : record.smoothed->tensors) {
    if (!one.product) continue;
    std::erase_if(plan.skipped, [&](const PlanSkip& skip) { return skip.value == one.value; });
    for (PlanEntry& entry : plan.entries) {
      if (entry.value == one.quantized) entry.value = one.value;
      std::replace(entry.derived_from.begin(), entry.derived_from.end(), one.quantized, one.value);
    }
  }
  return plan;
}

}  // namespace quench
