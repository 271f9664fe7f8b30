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
#include "quench/reconstruct.h"
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

// What would be learned, and how long; null if nothing.
Json learning_of(const QuantizeJob& job, const Graph& graph, const Dataset* train_data) {
  Json learning;
  if (const MethodConfig& method = job.config.method; !method.name.empty()) {
    const std::vector<Unit> units = units_of_method(graph, method.name, method.options);
    learning["method"] = method.name;
    learning["units"] =
        std::count_if(units.begin(), units.end(), [](const Unit& unit) { return !unit.layers.empty(); });
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
  const Json learning = learning_of(job, graph, train);
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
    std::cout << "method      " << job.config.method.name << ", " << learning["units"]
              << " units (quench inspect MODEL --units shows them)\n";
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
