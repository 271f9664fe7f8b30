#include "quantize/record_data.h"

#include <set>

#include "data/doubts.h"
#include "data/item_noun.h"
#include "graph/border.h"

namespace quench {

void record_data(const QuantizeData& data, const Graph& model, QuantizeRecord& record) {
  const auto warn = [&](const std::vector<std::string>& doubts) {
    record.warnings.insert(record.warnings.end(), doubts.begin(), doubts.end());
  };
  if (data.calib) record.item = item_noun(*data.calib);
  if (data.calib) warn(doubts_about_values(*data.calib));
  // Of labels, only those that accuracy is measured or learned with count.
  for (const Dataset* labelled : {data.eval, data.train, data.validation})
    if (labelled) warn(doubts_about_classes(*labelled, model));
}

std::vector<MetricChange> metric_changes(const EvalResult& in_float, const EvalResult& quantized) {
  std::vector<MetricChange> changes;
  if (!in_float.chosen) return changes;
  for (const MetricResult& metric : in_float.metrics)
    changes.push_back({metric.name, compare_results(quantized, in_float, metric.name)});
  return changes;
}

std::vector<std::string> widening_notes(const Graph& graph) {
  std::set<std::string> types;
  for (const Value* value : graph.values())
    if (is_narrow_float(value->dtype())) types.insert(name_of(value->dtype()));
  std::vector<std::string> notes;
  for (const std::string& type : types)
    notes.push_back("the model computes in " + type + ": widened to float32, with a Cast at inputs and outputs");
  return notes;
}

}  // namespace quench
