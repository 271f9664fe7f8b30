#include "calibrate/shares.h"

#include <ATen/ATen.h>

namespace quench {
namespace {

std::vector<Observer*> observers_of_data(const Observing& observing) {
  std::vector<Observer*> observers;
  for (const ObservedQuantizer& one : observing.quantizers())
    if (one.from_data) observers.push_back(one.observer.get());
  return observers;
}

}  // namespace

Shares::Shares(const Observing& observing, const CalibrationOptions& options) : processes_(options.processes) {
  // Which items are the first good ones is known only once they were read.
  const bool counts_good_ones = options.batches > 0 && options.skip_broken;
  if (processes_ && !observing.by_batch() && !options.on_quantized && !counts_good_ones) parts_ = processes_->size();
}

void Shares::put_together(const Observing& observing, CalibrationRecord& record) const {
  if (!processes_) return;
  if (parts_ == 1) return copy_first_observers(*processes_, observers_of_data(observing));
  merge_observers(*processes_, observers_of_data(observing));
  at::Tensor counts = at::tensor({record.items, record.batches}, at::kLong);
  processes_->sum(counts);
  record.items = counts[0].item<std::int64_t>();
  record.batches = counts[1].item<std::int64_t>();
  record.skipped = processes_->gather(record.skipped);
}

void share_what_was_kept(const Observing& observing, const Processes& processes, CalibrationRecord& record) {
  at::Tensor found = at::tensor({std::int64_t{record.reused}, record.items, record.batches}, at::kLong);
  processes.broadcast(found);
  record.reused = found[0].item<std::int64_t>() != 0;
  if (!record.reused) return;
  record.items = found[1].item<std::int64_t>();
  record.batches = found[2].item<std::int64_t>();
  copy_first_observers(processes, observers_of_data(observing));
}

}  // namespace quench
