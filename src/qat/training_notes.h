// What training did beyond the weights, and what it could not do as it was told, for the record.
#pragma once

#include <string>
#include <vector>

#include "quench/train.h"

namespace quench {

// A model that fixes its batch takes that many items per step, whatever was asked for; "" where it takes what was
// asked.
std::string fixed_batch_note(const Graph& graph, const Dataset& data, std::int64_t batch);
// Options with another value than the usual one that have no effect with the others', or without validation data; "" if
// there are none.
std::string idle_options_note(const TrainOptions& options, bool validates);
// That the warm-up does not end before training does; "" otherwise.
std::string warmup_note(const TrainOptions& options, std::int64_t steps_per_epoch);
// Whether no epoch before the last one had a loss as low as it: no sign of too large steps.
bool still_falls(const TrainRecord& record);
// That the network is no better than before, as far as scores or losses tell; "" otherwise.
std::string worse_warning(const TrainRecord& record, const TrainOptions& options);

// Channels whose BatchNorm factor was too small to divide by (docs/numerics.md 8.2), a text for each layer with such.
// Of many channels the first are named.
std::vector<std::string> guarded_notes(const Graph& trained);
// Whether Dropout of the float network is gone from the one that trains; "" if none is.
std::string dropout_note(const Graph& original, const Graph& trained);

}  // namespace quench
