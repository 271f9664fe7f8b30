#include "cli/dry_run.h"

#include <algorithm>
#include <iostream>

#include "calibrate/slice_size.h"
#include "cli/command.h"
#include "core/counted.h"
#include "data/batch_size.h"
#include "quantize/stages.h"
#include "quench/export.h"
#include "quench/process.h"
#include "quench/ptq_method.h"
#include "quench/reconstruct.h"
#include "reconstruct/method_options.h"
#include "report/plan_json.h"
#include "report/table.h"

namespace quench {
namespace {

// As calibration does it: a slice for each thread, unless a reference is re-created with its batches.
std::int64_t items_at_once(const QuantizeJob& job, const Graph& graph, const Dataset* data) {
  if (job.config.quant.parity || !data) return choose_batch(graph, data, job.config.calibration.batch);
  const std::int64_t slice = slice_of_thread(graph, *data), slices = (data->size() + slice - 1) / slice;
  return slice * std::clamp<std::int64_t>(slices, 1, threads());
}

// Whether the plan gives the layer a weight of integers, and the method may learn it.
bool may_learn(const Node& layer, const QuantPlan& plan, const std::vector<std::string>& excluded) {
  const auto is_weight = [&](const PlanEntry& entry) {
    return entry.role == Role::kWeight && entry.scheme.is_int() &&
           std::any_of(layer.inputs().begin(), layer.inputs().end(),
                       [&](const Value* input) { return input && input->name() == entry.value; });
  };
  return std::any_of(plan.entries.begin(), plan.entries.end(), is_weight) &&
         std::none_of(excluded.begin(), excluded.end(),
                      [&](const std::string& prefix) { return layer.name().starts_with(prefix); });
}

std::int64_t learning_units(const MethodConfig& method, const Graph& graph, const QuantPlan& plan) {
  const std::vector<Unit> units = units_of_method(graph, method.name, method.options);
  const std::vector<std::string> excluded =
      words_of(checked_method_options(method.name, method.options), "exclude_node_prefix");
  return std::count_if(units.begin(), units.end(), [&](const Unit& unit) {
    return unit.learns() && std::any_of(unit.layers.begin(), unit.layers.end(), [&](const std::string& layer) {
             return may_learn(*graph.find_node(layer), plan, excluded);
           });
  });
}

// "block", "layer", or the names that were given: what 'inspect --units' takes.
std::string units_shown(const MethodConfig& method) {
  const Options options = checked_method_options(method.name, method.options);
  return options.word(words_of(options, "units").empty() ? "pattern" : "units");
}

// What would be learned, and how long; null if nothing.
Json learning_of(const QuantizeJob& job, const Graph& graph, const QuantPlan& plan, const Dataset* train_data) {
  Json learning;
  if (const MethodConfig& method = job.config.method; !method.name.empty()) {
    learning["method"] = method.name;
    learning["units"] = learning_units(method, graph, plan);
  }
  if (const auto& train = job.config.train) {
    learning["epochs"] = train->epochs;
    learning["train_batch"] = train->batch;
    if (train_data) learning["train_items"] = train_data->size();
  }
  return learning;
}

}  // namespace

void print_need(const QuantizeJob& job, const Quantized& planned, const Dataset* calib, const Dataset* train,
                bool json) {
  const Graph& graph = planned.model.graph;
  const QuantizeRecord& record = planned.record;
  const std::int64_t batch = items_at_once(job, graph, calib);
  const ActivationNeed need = activation_need(graph, batch);
  const Json learning = learning_of(job, graph, *record.plan, train);
  if (json) {
    Json object = json_of(*record.plan);
    if (!learning.is_null()) object.update(learning);
    object["float_bytes"] = record.size->float_bytes;
    object["quantized_bytes"] = record.size->quantized_bytes;
    object["batch"] = batch;
    object["activation_bytes"] = need.peak_bytes;
    object["resident_bytes"] = resident_bytes();
    return print_json(object);
  }
  std::cout << plan_summary(*record.plan);
  if (learning.contains("method"))
    std::cout << "method      " << job.config.method.name << ", " << counted(learning["units"], "unit")
              << (learning["units"] == 1 ? " learns" : " learn") << " ('quench inspect MODEL --units "
              << units_shown(job.config.method) << "' shows all)\n";
  if (learning.contains("train_items"))
    std::cout << "training    " << counted(job.config.train->epochs, "epoch") << " of " << learning["train_items"]
              << " items, " << job.config.train->batch << " per step\n";
  std::cout << "weights     " << size_text(record.size->float_bytes) << " in float, "
            << size_text(record.size->quantized_bytes) << " quantized\n"
            << "memory      " << size_text(resident_bytes()) << " now, and about " << size_text(need.peak_bytes)
            << " for what is alive at once at batch " << batch;
  if (need.unknown > 0) std::cout << " (without " << need.unknown << " values of unknown shape)";
  std::cout << (learning.is_null() ? "" : "; learning takes more") << "\nnothing was written (--dry-run)\n";
}

}  // namespace quench
