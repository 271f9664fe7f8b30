#include "quench/train_loop.h"

namespace quench {

Options checked_loop_options(const std::string& loop, const Options& given) {
  return given.checked(TrainLoopRegistry::instance().get(loop).options, concat("training loop '", loop, "'"));
}

void TrainLoop::prepare_for_run_epoch(Training& training) {
  const int begin = training.options().freeze_bn_begin;
  if (begin > 0 && training.epoch() >= begin) training.freeze_norms();
}

void TrainLoop::run_epoch(Training& training) {
  while (training.run_batch()) {
  }
}

void TrainLoop::prepare_for_val(Training& training) { training.set_flags({.quantize = true}); }

}  // namespace quench
