// Quantization-aware training: a model with quantizers trains on data, so that its weights and scales settle where the
// integers can follow (docs/training.md). The loop is a registered entry (quench/train_loop.h); the command line's
// `quench train` is quantize() with JobConfig::train set.
//
//   quench::TrainOptions options;
//   options.epochs = 10;
//   quench::TrainRecord record = quench::train(model, {train_set, validation_set}, options);
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quench/data.h"
#include "quench/evaluate.h"
#include "quench/options.h"
#include "quench/quantized_model.h"

namespace quench {

class Processes;

struct OptimizerOptions {
  std::string name = "sgd";                           // sgd, adam, adamw
  double lr = 0.01;                                   // at its highest
  double momentum = 0.9;                              // sgd
  bool nesterov = true;                               // sgd with momentum
  double weight_decay = 1e-4;                         // of weights; biases, BatchNorm and quantizers have none
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;  // adam, adamw
  std::optional<double> scale_lr;                     // of what quantizers learn; absent: a tenth of `lr`
};

struct ScheduleOptions {
  std::string name = "cosine";          // constant, step, multi_step, cosine
  double warmup_epochs = 0.0;           // the rate rises linearly first
  std::int64_t warmup_steps = 0;        // the same, counted in steps: only one of the two
  double warmup_start = 0.0;            // from this share of it
  double step_epochs = 30.0;            // step: times `gamma` every so many epochs
  std::vector<double> milestones = {};  // multi_step: at these epochs
  double gamma = 0.1;
  double end = 0.0;  // cosine: the share of the rate that is left at the end
};

struct AugmentOptions {
  bool flip = false;      // half of the images mirrored
  std::int64_t crop = 0;  // a random window after padding with so many pixels on each side
  bool any() const { return flip || crop > 0; }
};

struct DistillOptions {
  double weight = 0.0;  // share of the loss that is the distance to the float model's logits; the labels have the rest
  double temperature = 4.0;  // of both softmaxes (Hinton et al., "Distilling the knowledge in a neural network", 2015)
};

struct TrainOptions {
  std::string loop = "learn";  // 'quench list loops'
  Options loop_options = {};   // that the loop declares; those not given have its defaults
  int epochs = 10;
  std::int64_t max_steps = 0;  // ends earlier, after so many steps; 0: all of them
  std::int64_t batch = 128;    // of all processes together
  int workers = 1;             // decoding threads
  std::uint64_t seed = 0;
  std::string device = "cpu";
  bool bf16 = false;    // convolutions and products in bfloat16, parameters in float32
  bool sync_bn = true;  // several processes: BatchNorm goes by the whole batch, else by each process's share

  OptimizerOptions optimizer;
  ScheduleOptions schedule;
  AugmentOptions augment;
  DistillOptions distill;
  double label_smoothing = 0.0;
  double clip_norm = 0.0;  // of the gradient of all weights; 0: none
  double ema = 0.0;        // decay of an average of the weights, which is what is validated and kept; 0: none

  // Epochs count from 1; 0: never (mmrazor's -1).
  int freeze_bn_begin = 0;          // BatchNorm keeps its statistics from this epoch on
  std::int64_t freeze_bn_step = 0;  // the same from this step on, which counts from 1 over all epochs
  int disable_observer_begin = 0;   // loops that observe stop doing so
  int val_begin = 1, val_interval = 1;
  std::vector<std::pair<int, int>> dynamic_intervals = {};  // (from this epoch on, this interval)
  std::string metric = "";  // that validation measures (quench/metric.h); "": top1 or perplexity, as the data is
  // The float network for metrics that compare with it; null: the model of that moment without its quantizers.
  const Graph* reference = nullptr;
  bool keep_best = true;   // ends with the best epoch on validation data (or the start), else with the last
  bool val_float = false;  // validates the float network behind it, too

  std::string folder;                 // of checkpoints and logs; "": none
  std::int64_t checkpoint_every = 0;  // steps; 0: after each epoch
  bool resume = false;                // from the last checkpoint in the folder, to the same bits
  std::int64_t log_every = 50;        // steps
  // Several train together: each takes its share of every batch, the first one alone reads and writes the folder and
  // is the one that reports.
  const Processes* processes = nullptr;

  std::function<void(std::int64_t done, std::int64_t total, double loss)> progress = {};
  std::function<void(double score)> start_measured = {};  // on validation data, before the first step
  // Asked after each step; if true, a checkpoint is written and an Error ends it. Of several processes all must have
  // one, and all end where it is true in any.
  std::function<bool()> stop = {};
  std::function<void(const struct TrainEpoch& epoch)> epoch_done = {};
};

struct TrainEpoch {
  int epoch = 0;      // from 1
  double loss = 0.0;  // mean over its items
  double rate = 0.0;  // learning rate of its last step
  double seconds = 0.0;
  std::optional<double> quantized,
      in_float;  // the metric on validation data, more is better: -perplexity; with quantizers (if any), without
  bool operator==(const TrainEpoch&) const = default;
};

struct TrainRecord {
  std::optional<double> start;  // the score before the first step, of a model that came calibrated
  std::vector<TrainEpoch> epochs;
  std::string metric;  // of validation, as asked for
  int best_epoch = 0;  // whose weights the model has; 0: none was better than the start
  std::int64_t steps = 0, items = 0;
  std::int64_t resumed_from = 0;  // the step that an earlier run had come to
  double seconds = 0.0;
  std::vector<std::string> notes;
};

struct TrainData {
  const Dataset& train;
  const Dataset* validation = nullptr;
};

// Trains all parameters of the model's graph and what its quantizers learn, in place: a module that the graph was made
// from trains with it. `teacher` is the float network that is distilled from; null: no distillation. The model is
// calibrated (unless the loop finds scales itself) and ends `trained`. Same seed, threads, device and build: same bits.
TrainRecord train(QuantizedModel& model, const TrainData& data, const TrainOptions& options,
                  const Graph* teacher = nullptr);

// Plain float training of a network without quantizers, in place: validation scores are those of the float network.
TrainRecord train_float(Graph& network, const TrainData& data, const TrainOptions& options);

void check_train_options(const TrainOptions& options);

// Throws where train() with these would, if the checkpoint in the folder belongs to another job. The model need not be
// calibrated yet.
void check_resumes(const QuantizedModel& model, const TrainData& data, const TrainOptions& options,
                   const Graph* teacher = nullptr);

// The learning rate's factor at a step, of `per_epoch` steps in each of `epochs`.
double schedule_factor(const ScheduleOptions& schedule, std::int64_t step, std::int64_t per_epoch, int epochs);

}  // namespace quench
