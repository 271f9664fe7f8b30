#include "qat/float_train.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <fmt/format.h>
#include <torch/optim/sgd.h>

#include <chrono>
#include <cmath>
#include <numbers>

#include "data/top_classes.h"
#include "qat/augment.h"
#include "quench/state_dict.h"
#include "quench/zoo_net.h"
#include "zoo/seeded_generator.h"

namespace quench {
namespace {

using Clock = std::chrono::steady_clock;

void check(const FloatTrainOptions& options, const Dataset& train) {
  QUENCH_CHECK(options.epochs >= 1, "epochs is ", options.epochs, "; at least 1 is needed");
  QUENCH_CHECK(options.batch_size >= 1, "batch_size is ", options.batch_size, "; at least 1 is needed");
  QUENCH_CHECK(options.learning_rate > 0, "learning_rate is ", options.learning_rate, "; it must be above 0");
  QUENCH_CHECK(options.label_smoothing >= 0 && options.label_smoothing < 1, "label_smoothing is ",
               options.label_smoothing, "; it lies between 0 and 1");
  QUENCH_CHECK(train.size() >= options.batch_size, "the training set has ", train.size(),
               " images, fewer than one batch of ", options.batch_size);
  QUENCH_CHECK(train.task() == Task::kClassify, "the training set has no labels");
}

at::Tensor labels_of(const Batch& batch) {
  for (std::size_t i = 0; i < batch.labels.size(); ++i)
    QUENCH_CHECK(batch.labels[i] >= 0, "image '", batch.names[i], "' has no label");
  return at::tensor(batch.labels, at::kLong);
}

TensorMap copy_of(const TensorMap& state) {
  TensorMap copy;
  for (const auto& [name, tensor] : state) copy.emplace(name, tensor.detach().clone());
  return copy;
}

class Trainer {
 public:
  Trainer(ZooNet& net, const Dataset& train, const FloatTrainOptions& options)
      : net_(net),
        train_(train),
        options_(options),
        generator_(at::make_generator<at::CPUGeneratorImpl>(options.seed)),
        optimizer_(
            groups(net, options),
            torch::optim::SGDOptions(options.learning_rate).momentum(options.momentum).nesterov(options.momentum > 0)),
        steps_(options.epochs * (train.size() / options.batch_size)) {}

  EpochRecord epoch(int number) {
    const auto start = Clock::now();
    LoadOptions order{.batch_size = options_.batch_size, .shuffle = true};
    order.seed = options_.seed + static_cast<std::uint64_t>(number);
    order.workers = options_.workers;
    Loader loader(train_, order);
    net_.train();
    EpochRecord record;
    std::int64_t images = 0;
    while (auto batch = loader.next()) {
      const auto count = static_cast<std::int64_t>(batch->labels.size());
      if (count < options_.batch_size) break;  // a short batch would have noisy BatchNorm statistics
      record.loss += step(*batch) * static_cast<double>(count);
      images += count;
    }
    record.loss /= static_cast<double>(images);
    record.learning_rate = cosine_rate(options_, step_, steps_);
    record.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return record;
  }

 private:
  static std::vector<torch::optim::OptimizerParamGroup> groups(ZooNet& net, const FloatTrainOptions& options) {
    std::vector<at::Tensor> weights, others;
    for (const at::Tensor& parameter : net.parameters()) (parameter.dim() > 1 ? weights : others).push_back(parameter);
    auto group = [&](std::vector<at::Tensor> parameters, double decay) {
      auto sgd = std::make_unique<torch::optim::SGDOptions>(options.learning_rate);
      sgd->momentum(options.momentum).nesterov(options.momentum > 0).weight_decay(decay);
      return torch::optim::OptimizerParamGroup(std::move(parameters), std::move(sgd));
    };
    std::vector<torch::optim::OptimizerParamGroup> result;
    result.push_back(group(std::move(weights), options.weight_decay));
    result.push_back(group(std::move(others), 0.0));
    return result;
  }

  double step(const Batch& batch) {
    for (auto& group : optimizer_.param_groups()) group.options().set_lr(cosine_rate(options_, step_, steps_));
    at::Tensor images = random_shift(batch.inputs.tensor(), options_.shift, generator_);
    if (options_.flip) images = random_flip(images, generator_);
    const at::Tensor logits = net_.forward(images.contiguous(at::MemoryFormat::ChannelsLast));
    const at::Tensor loss = at::cross_entropy_loss(logits, labels_of(batch), /*weight=*/{}, at::Reduction::Mean,
                                                   /*ignore_index=*/-100, options_.label_smoothing);
    const double value = loss.item<double>();
    QUENCH_CHECK(std::isfinite(value), "the loss is ", value, " at step ", step_, " of ", steps_,
                 "; try a lower learning rate");
    optimizer_.zero_grad();
    loss.backward();
    optimizer_.step();
    ++step_;
    return value;
  }

  ZooNet& net_;
  const Dataset& train_;
  const FloatTrainOptions& options_;
  at::Generator generator_;
  torch::optim::SGD optimizer_;
  std::int64_t step_ = 0, steps_ = 0;
};

std::string progress_line(const FloatTrainOptions& options, int epoch, const EpochRecord& record) {
  std::string line = fmt::format("epoch {}/{}  loss {:.4f}", epoch + 1, options.epochs, record.loss);
  if (record.validation >= 0) line += fmt::format("  validation {:.2f} %", 100 * record.validation);
  return line + fmt::format("  learning rate {:.4f}  {:.1f} s", record.learning_rate, record.seconds);
}

}  // namespace

double cosine_rate(const FloatTrainOptions& options, std::int64_t step, std::int64_t steps) {
  const double warmup = options.warmup_epochs / options.epochs * static_cast<double>(steps);
  const auto done = static_cast<double>(step);
  if (done < warmup) return options.learning_rate * (done + 1) / warmup;
  const double part = (done - warmup) / std::max(1.0, static_cast<double>(steps) - warmup);
  return options.learning_rate * 0.5 * (1 + std::cos(std::numbers::pi * std::min(1.0, part)));
}

FloatTrainRecord train_float(ZooNet& net, const Dataset& train, const Dataset* validation,
                             const FloatTrainOptions& options) {
  check(options, train);
  const SeededGenerator seeded(options.seed);  // dropout draws from the global generator
  Trainer trainer(net, train, options);
  FloatTrainRecord result;
  double best = -1.0;
  TensorMap best_state;
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    EpochRecord record = trainer.epoch(epoch);
    if (validation) record.validation = evaluate_float(net, *validation).fraction();
    if (!validation || record.validation > best) {
      best = record.validation;
      result.best_epoch = epoch;
      best_state = copy_of(state_of(net));
      if (!options.checkpoint.empty()) write_safetensors(options.checkpoint, best_state);
    }
    if (options.progress) options.progress(progress_line(options, epoch, record));
    result.epochs.push_back(record);
  }
  load_state(net, best_state);
  net.eval();
  return result;
}

Accuracy evaluate_float(ZooNet& net, const Dataset& dataset, std::int64_t batch_size) {
  const at::NoGradGuard no_grad;
  const bool was_training = net.is_training();
  net.eval();
  Accuracy result;
  Loader loader(dataset, LoadOptions{.batch_size = batch_size});
  while (auto batch = loader.next()) {
    const at::Tensor logits = net.forward(batch->inputs.tensor().contiguous(at::MemoryFormat::ChannelsLast));
    result.correct += top_class(logits).eq(labels_of(*batch)).sum().item<std::int64_t>();
    result.images += logits.size(0);
  }
  net.train(was_training);
  return result;
}

}  // namespace quench
