// One step of training: forward, loss, backward, optimizer, average of the weights. On a GPU it waits for nothing, and
// where it does the same on the same shapes again and again, it is captured once and replayed.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/device_copy.h"
#include "kernels/replay.h"
#include "measure/fast_run.h"
#include "qat/optimizer.h"
#include "qat/train_together.h"
#include "qat/weight_average.h"

namespace quench {

// Of a step in its training.
struct StepPlace {
  std::int64_t before = 0, all = 0;  // steps
  double factor = 1.0;               // of the learning rates
};

class TrainStep {
 public:
  struct Parts {
    TrainingGraph& graph;
    Optimizer& optimizer;
    WeightAverage& average;
    TrainTogether& together;
  };
  // Everything given must outlive it, except for the teacher. Throws if the options ask for one that is not there.
  TrainStep(const Parts& parts, const Dataset& data, const TrainOptions& options, const Graph* teacher,
            bool capture = true);
  ~TrainStep();

  void run(const Batch& batch, const StepPlace& place);
  // Of the steps since the last call, in order; waits for the device. Throws if one is not finite (on the CPU `run`
  // does, before that step changes anything).
  std::vector<double> losses();
  bool knows_losses() const { return !defers_; }  // after each step, without waiting

  bool is_captured() const { return replay_ && replay_->is_captured(); }
  const std::string& note() const { return note_; }  // why it was not captured, or nothing

 private:
  void stage(const Batch& batch);
  void put(at::Tensor& to, const at::Tensor& from);
  bool may_be_captured() const;
  void replay(const Batch& batch);
  void compute();
  at::Tensor forward();
  void keep_loss();
  void read_losses();
  void check(double loss, const StepPlace& place) const;

  const Parts parts_;
  const Dataset& data_;
  const TrainOptions& options_;
  const bool capture_, defers_;
  std::unique_ptr<FastRun> teacher_;
  Upload upload_;

  // What the step works on; on a GPU always the same memory.
  struct Staged;
  std::unique_ptr<Staged> staged_;
  const Batch* batch_ = nullptr;
  StepPlace place_;

  std::unique_ptr<Replay> replay_;
  std::uint64_t form_ = 0;  // of the graph, when its steps began to be captured
  std::string note_;
  std::vector<StepPlace> unread_;
  std::vector<double> read_;
};

}  // namespace quench
