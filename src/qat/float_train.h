// Plain float training of a zoo network: SGD with momentum, a cosine schedule,
// weight decay, light augmentation. Same seed, threads and build: same bits.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "quench/data.h"
#include "quench/zoo.h"

namespace quench {

struct FloatTrainOptions {
  int epochs = 10;
  std::int64_t batch_size = 128;
  double learning_rate = 0.1;    // at its highest; falls to 0 along a cosine
  double warmup_epochs = 0.5;    // rises linearly before that
  double momentum = 0.9;         // Nesterov's
  double weight_decay = 5e-4;    // of convolution and linear weights; not of biases and BatchNorm
  double label_smoothing = 0.0;  // 0 to below 1
  std::int64_t shift = 0;        // augmentation: up to this many pixels each way, edges repeated
  bool flip = false;             // augmentation: half of the images mirrored
  std::uint64_t seed = 0;        // of order, augmentation and dropout
  int workers = 1;               // decoding threads
  std::string checkpoint;        // safetensors file of the best weights so far; "" writes none
  std::function<void(const std::string& line)> progress;  // one line per epoch
};

struct EpochRecord {
  double loss = 0.0;           // mean over the epoch's images, with augmentation and smoothing
  double validation = -1.0;    // accuracy, 0 to 1; -1 without a validation set
  double learning_rate = 0.0;  // at the epoch's end
  double seconds = 0.0;
};

struct FloatTrainRecord {
  std::vector<EpochRecord> epochs;
  int best_epoch = -1;  // whose weights the network has at the end: the best on
                        // validation, else the last
};

struct Accuracy {
  std::int64_t images = 0, correct = 0;
  double fraction() const { return images == 0 ? 0.0 : static_cast<double>(correct) / static_cast<double>(images); }
};

// Trains in place; the network ends in evaluation mode. `validation` may be
// null.
FloatTrainRecord train_float(ZooNet& net, const Dataset& train, const Dataset* validation,
                             const FloatTrainOptions& options);

// Top-1, in evaluation mode. The network's mode is left as it was.
Accuracy evaluate_float(ZooNet& net, const Dataset& dataset, std::int64_t batch_size = 256);

// The learning rate of one step out of `steps`.
double cosine_rate(const FloatTrainOptions& options, std::int64_t step, std::int64_t steps);

}  // namespace quench
