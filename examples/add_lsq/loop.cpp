// LSQEpochBasedLoop: the first batch is observed and gives the scales; from then on they learn.
#include "quench/train_loop.h"

namespace {

constexpr const char* kStarted = "my_lsq.started";  // kept in checkpoints: the first batch comes once

class LSQEpochBasedLoop : public quench::TrainLoop {
 public:
  void run_epoch(quench::Training& training) override {
    if (!training.flag(kStarted)) {
      training.set_flag(kStarted, true);
      training.set_flags({.observe = true, .quantize = true});
      training.run_batch();
    }
    training.set_flags({.quantize = true});
    TrainLoop::run_epoch(training);
  }
  bool finds_scales() const override { return true; }
};

}  // namespace

QUENCH_REGISTER_LOOP("my_lsq", LSQEpochBasedLoop, "scales from the first batch, then they learn")
