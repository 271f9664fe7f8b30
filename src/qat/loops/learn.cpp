// learn: the scales that calibration found are where training begins; they learn, or stay, as each quantizer does it.
// Nothing observes.
#include "quench/train_loop.h"

namespace quench {
namespace {

class Learn : public TrainLoop {
 public:
  void prepare_for_run_epoch(Training& training) override {
    TrainLoop::prepare_for_run_epoch(training);
    training.set_flags({.quantize = true});
  }
};

QUENCH_REGISTER_ITEM(TrainLoopEntry, "learn", "scales learn from where calibration left them; nothing observes",
                     {new_train_loop<Learn>, {}, false})

}  // namespace
}  // namespace quench
