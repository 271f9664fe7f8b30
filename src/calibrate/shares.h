// Calibration by several processes: who reads what, and how the statistics come together. Everyone ends with the same,
// which are those of one process that read all of the data.
#pragma once

#include "calibrate/observing.h"
#include "quench/calibrate.h"
#include "quench/distributed.h"

namespace quench {

class Shares {
 public:
  // Where the result depends on the order of the batches, or on what earlier ones made of the quantizers, everyone
  // reads all of it.
  Shares(const Observing& observing, const CalibrationOptions& options);

  int part() const { return parts_ > 1 ? processes_->rank() : 0; }
  int parts() const { return parts_; }
  // Statistics and counts, once everyone has read its share.
  void put_together(const Observing& observing, CalibrationRecord& record) const;

 private:
  const Processes* processes_;
  int parts_ = 1;
};

// If the first process took its statistics from a folder, so does everyone.
void share_what_was_kept(const Observing& observing, const Processes& processes, CalibrationRecord& record);

}  // namespace quench
