// lsq_epoch: mmrazor's LSQEpochBasedLoop. The first batch of all is observed while it trains, which gives the scales;
// from then on they learn. That it is over is kept in checkpoints.
#include "quench/train_loop.h"

namespace quench {
namespace {

constexpr const char* kEstimated = "scales_estimated";

class LsqEpoch : public TrainLoop {
 public:
  void run_epoch(Training& training) override {
    if (!training.flag(kEstimated)) {
      training.set_flags({.observe = true, .quantize = true});
      training.set_flag(kEstimated, true);  // a checkpoint after this batch must know
      training.run_batch();
    }
    training.set_flags({.quantize = true});
    TrainLoop::run_epoch(training);
  }
  bool finds_scales() const override { return true; }
};

QUENCH_REGISTER_ITEM(TrainLoopEntry, "lsq_epoch",
                     "mmrazor's LSQEpochBasedLoop: scales from the first batch, then they learn",
                     {new_train_loop<LsqEpoch>, {}, false})

}  // namespace
}  // namespace quench
