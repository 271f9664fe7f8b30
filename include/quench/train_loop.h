// A training loop: what happens to quantizers and BatchNorm before an epoch, how an epoch runs, and what is set before
// validation. One file each in src/qat/loops/; mmrazor's loops are entries, and a user's own overrides what it wants to
// change.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "quench/registry.h"
#include "quench/train.h"

namespace quench {

// What a loop works on.
class Training {
 public:
  virtual ~Training() = default;

  virtual const TrainOptions& options() const = 0;  // with all options of the loop
  virtual int epoch() const = 0;                    // the present one, from 1

  // Switches of all quantizers.
  virtual void set_flags(QuantFlags flags) = 0;  // to observe, their observers must be refreshable
  // The same with two kinds told apart: those that follow an observer all the time (nothing of theirs learns), and the
  // others, whose scale is found once and may learn from there.
  virtual void set_flags(QuantFlags following, QuantFlags others) = 0;
  virtual void freeze_norms() = 0;  // for good
  virtual bool norms_frozen() const = 0;

  virtual bool run_batch() = 0;  // one step; false if the epoch has no batch left

  // Kept in checkpoints.
  virtual bool flag(const std::string& name) const = 0;
  virtual void set_flag(const std::string& name, bool value) = 0;
};

class TrainLoop {
 public:
  virtual ~TrainLoop() = default;

  virtual void prepare_for_run_epoch(Training& training);  // BatchNorm frozen when its time has come
  virtual void run_epoch(Training& training);              // all batches
  virtual void prepare_for_val(Training& training);        // quantizers on, observers off
  virtual bool finds_scales() const { return false; }      // else the model must be calibrated
};

struct TrainLoopEntry {
  static constexpr const char* kKind = "training loop";
  std::unique_ptr<TrainLoop> (*make)() = nullptr;
  std::vector<OptionInfo> options = {};  // it reads them from Training::options().loop_options
  bool observes = true;                  // in every epoch, until TrainOptions::disable_observer_begin
};
using TrainLoopRegistry = Registry<TrainLoopEntry>;

// `given` over the loop's defaults; throws for an unknown loop or option.
Options checked_loop_options(const std::string& loop, const Options& given);

template <typename Loop>
std::unique_ptr<TrainLoop> new_train_loop() {
  return std::make_unique<Loop>();
}

}  // namespace quench

// QUENCH_REGISTER_LOOP("lsq_epoch", LsqEpoch, "mmrazor's LSQEpochBasedLoop: ..."[, {"alpha", 0.5, "what it is"}...])
#define QUENCH_REGISTER_LOOP(name, type, summary, ...) \
  QUENCH_REGISTER_ITEM(::quench::TrainLoopEntry, name, summary, {::quench::new_train_loop<type>, {__VA_ARGS__}})
