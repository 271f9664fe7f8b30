// A small network that has learned the quarters, ready to train with quantizers; and options that take a second.
#pragma once

#include <ATen/Parallel.h>

#include "qat/quarters.h"
#include "quench/calibrate.h"
#include "quench/prepare.h"
#include "quench/torch.h"
#include "quench/train.h"
#include "quench/zoo_net.h"

namespace quench {

inline const Quarters& items() {
  static const Quarters set(256, 1);
  return set;
}
inline const Quarters& others() {
  static const Quarters set(128, 2);
  return set;
}

inline Graph untrained() {
  const auto module = make_zoo_model("small_cnn", {.num_classes = 4, .seed = 1});
  module->eval();
  return from_module(*module, {at::zeros({2, 1, 12, 12})}).clone();
}

// A float network that has learned the task.
inline Graph net() {
  static const Graph trained = [] {
    Graph graph = untrained();
    TrainOptions options;
    options.epochs = 3;
    options.batch = 32;
    options.optimizer.lr = 0.05;
    const int threads = at::get_num_threads();
    at::set_num_threads(1);  // the same bits in every process, however many threads each has
    train_float(graph, {items()}, options);
    at::set_num_threads(threads);
    return graph;
  }();
  return trained.clone();
}

inline PrepareOptions live() {
  PrepareOptions options;
  options.norm = NormMode::kLive;
  return options;
}

inline QuantizedModel prepared(const std::string& fake_quant, const std::string& observer = "min_max",
                               const std::string& platform = "tensorrt_qdq") {
  QuantConfig config;
  config.platform = platform;
  config.weight.fake_quant = config.activation.fake_quant = fake_quant;
  config.weight.observer = config.activation.observer = observer;
  config.weight.bits = 4;
  return prepare(net(), config, live());
}

inline QuantizedModel calibrated(const std::string& fake_quant = "lsq") {
  QuantizedModel model = prepared(fake_quant);
  calibrate(model, items());
  return model;
}

inline TrainOptions quick() {
  TrainOptions options;
  options.epochs = 3;
  options.batch = 32;
  options.optimizer.lr = 0.02;
  options.augment.crop = 1;
  options.augment.flip = true;
  options.seed = 3;
  return options;
}

inline bool same_constants(const Graph& a, const Graph& b) {
  for (const Value* value : a.constants())
    if (!at::equal(value->tensor().detach(), b.value(value->name()).tensor().detach())) return false;
  return a.constants().size() == b.constants().size();
}

}  // namespace quench
