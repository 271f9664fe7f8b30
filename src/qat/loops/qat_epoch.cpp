// qat_epoch: mmrazor's QATEpochBasedLoop, and PyTorch's way. Quantizers follow their observers while they quantize,
// until disable_observer_begin.
#include "quench/train_loop.h"

namespace quench {
namespace {

class QatEpoch : public TrainLoop {
 public:
  void prepare_for_run_epoch(Training& training) override {
    TrainLoop::prepare_for_run_epoch(training);
    const int begin = training.options().disable_observer_begin;
    training.set_flags({.observe = begin <= 0 || training.epoch() < begin, .quantize = true});
  }
  bool finds_scales() const override { return true; }
};

QUENCH_REGISTER_LOOP("qat_epoch", QatEpoch,
                     "mmrazor's QATEpochBasedLoop: quantizers follow their observers while they quantize")

}  // namespace
}  // namespace quench
