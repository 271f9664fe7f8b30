// qat_epoch: mmrazor's QATEpochBasedLoop, and PyTorch's way. Quantizers follow their observers while they quantize,
// until disable_observer_begin. Those that learn their scale take it from the first batch alone, as in lsq_epoch.
#include "quench/train_loop.h"

namespace quench {
namespace {

constexpr const char* kEstimated = "scales_estimated";

class QatEpoch : public TrainLoop {
 public:
  void run_epoch(Training& training) override {
    const int begin = training.options().disable_observer_begin;
    const bool observes = begin <= 0 || training.epoch() < begin;
    if (observes && !training.flag(kEstimated)) {
      training.set_flags({.observe = true, .quantize = true});
      training.set_flag(kEstimated, true);  // a checkpoint after this batch must know
      training.run_batch();
    }
    training.set_flags({.observe = observes, .quantize = true}, {.quantize = true});
    TrainLoop::run_epoch(training);
  }
  bool finds_scales() const override { return true; }
};

QUENCH_REGISTER_LOOP("qat_epoch", QatEpoch,
                     "mmrazor's QATEpochBasedLoop: quantizers follow their observers while they quantize")

}  // namespace
}  // namespace quench
