// The state of a training run between two steps, in one safetensors file that replaces the previous one when it is
// whole.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "quench/safetensors.h"
#include "quench/train.h"

namespace quench {

struct TrainState {
  std::uint64_t key = 0;  // of the job: another one's checkpoint is refused
  std::int64_t step = 0, items = 0;
  int epoch = 1;                    // the present one
  std::int64_t items_in_epoch = 0;  // seen so far
  double loss_in_epoch = 0.0;       // summed over them
  double seconds_in_epoch = 0.0;
  bool norms_frozen = false;
  std::map<std::string, bool> flags;
  std::vector<TrainEpoch> epochs;  // finished ones
  std::optional<double> start;     // the score before the first step
  int best_epoch = 0;              // 0: none was better than that
  double seconds = 0.0;

  std::map<std::string, TensorMap> tensors;  // by part: model, optimizer, observers, average
};

void write_checkpoint(const std::string& folder, const TrainState& state);
// Nothing if there is none. Throws for one of another job. The first process reads it for all.
std::optional<TrainState> read_checkpoint(const std::string& folder, std::uint64_t key, const Processes& processes);

// What killed trainings left there half written.
void remove_half_written(const std::string& folder);

// The best epoch's tensors.
void write_best(const std::string& folder, const TensorMap& tensors);
TensorMap read_best(const std::string& folder, const Processes& processes);

}  // namespace quench
