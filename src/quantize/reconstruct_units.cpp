#include "quantize/reconstruct_units.h"

#include <algorithm>

#include "core/counted.h"
#include "data/batch_size.h"
#include "data/dataset_view.h"
#include "data/feed.h"
#include "quantize/method_defaults.h"
#include "quench/error.h"
#include "quench/process.h"

namespace quench {
namespace {

// How many items calibration reads if it takes a number of batches. Where it skips broken ones it goes on for others.
std::int64_t items_of_batches(const Graph& graph, const Dataset& data, const CalibrationOptions& options) {
  FeedOptions how;
  how.batch = options.batch;
  how.workers = options.workers;
  how.skip_broken = options.skip_broken;
  how.total = options.batches * choose_batch(graph, &data, options.batch);
  if (!options.skip_broken) return std::min(how.total, data.size());
  std::int64_t end = 0;
  Feed feed(graph, data, how);
  while (const std::optional<Fed> fed = feed.next()) end = fed->batch.indices.back() + 1;
  return end;
}

// Sums of other threads are added in another order.
std::string note_of_threads(const std::vector<UnitRecord>& units) {
  const auto count = std::count_if(units.begin(), units.end(), [](const UnitRecord& unit) {
    return unit.resumed && unit.threads > 0 && unit.threads != threads();
  });
  if (count == 0) return "";
  return concat(counted(count, "unit"), " of the earlier run learned with another number of threads than the ",
                threads(), " of this one: the result may differ in bits from that of an unbroken run");
}

// One note for all units where none learned: where codes are no integers, say, or everything is excluded.
std::vector<std::string> notes_of(const ReconstructionRecord& record) {
  const std::vector<UnitRecord>& units = record.units;
  const bool learned = std::any_of(units.begin(), units.end(), [](const UnitRecord& unit) {
    return unit.iterations > 0 || unit.moved > 0 || unit.note.empty();
  });
  std::vector<std::string> notes;
  if (!learned && units.size() > 1)
    notes.push_back(concat("'", record.method, "' changed nothing in any of the ", units.size(), " units; ",
                           units[0].name, ": ", units[0].note, "; for the others see the record"));
  else
    for (const UnitRecord& unit : units)
      if (!unit.note.empty()) notes.push_back(concat(unit.name, ": ", unit.note));
  notes.insert(notes.end(), record.notes.begin(), record.notes.end());
  return notes;
}

}  // namespace

ReconstructionRecord reconstruct_units(QuantizedModel& model, const Dataset& calib, const JobConfig& config,
                                       const QuantizeOptions& options, std::vector<std::string>& notes) {
  const CalibrationOptions& calibration = config.calibration;
  ReconstructOptions how;
  how.method = config.method.name;
  how.options = method_options(config, notes);
  how.seed = config.seed;
  how.device = calibration.device;
  how.workers = calibration.workers;
  how.skip_broken = calibration.skip_broken;
  how.checkpoint = options.checkpoint;
  how.keep_better = !config.quant.parity;  // the reference takes what was learned
  how.unit_done = options.unit_done;
  if (options.progress)
    how.progress = [&options](const std::string& unit, std::int64_t done, std::int64_t total) {
      options.progress("reconstructing " + unit, done, total);
    };
  const FirstItems items(calib,
                         calibration.batches > 0 ? items_of_batches(model.graph, calib, calibration) : calib.size());
  ReconstructionRecord record = reconstruct(model, items, how);
  for (std::string& text : notes_of(record)) notes.push_back(std::move(text));
  if (std::string text = note_of_threads(record.units); !text.empty()) notes.push_back(std::move(text));
  return record;
}

}  // namespace quench
