// Training in several processes is training in one: the same losses and parameters, but for the rounding of sums.
#include "qat/train_together.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "data/files.h"
#include "qat/quarters_net.h"
#include "quench/error.h"
#include "quench/quantizers.h"
#include "quench/train_loop.h"
#include "support/expect_error.h"
#include "support/together.h"

namespace quench {
namespace {

struct Trained {
  QuantizedModel model;
  TrainRecord record;
  std::vector<double> losses;  // of each step
};

Trained trained(QuantizedModel model, TrainOptions options, const Processes* processes) {
  Trained result{std::move(model), {}, {}};
  options.processes = processes;
  options.progress = [&](std::int64_t, std::int64_t, double loss) { result.losses.push_back(loss); };
  result.record = train(result.model, {items(), &others()}, options);
  return result;
}

TrainOptions frozen() {
  TrainOptions options = quick();
  options.freeze_bn_begin = 1;
  options.clip_norm = 2;
  options.keep_best = false;
  return options;
}

double largest_difference(const Graph& a, const Graph& b) {
  double largest = 0;
  for (const Value* value : a.parameters()) {
    const at::Tensor other = b.value(value->name()).tensor();
    largest = std::max(largest, (value->tensor() - other).abs().max().item<double>());
  }
  return largest;
}

// Nothing is quantized: what differs is the rounding of sums alone.
class InFloat : public TrainLoop {
 public:
  void prepare_for_run_epoch(Training& training) override {
    TrainLoop::prepare_for_run_epoch(training);
    training.set_flags({});
  }
};
QUENCH_REGISTER_LOOP("in_float", InFloat, "of a test")

void expect_as_one(const Processes& processes, const TrainOptions& options, double tolerance) {
  const Trained one = trained(calibrated(), options, nullptr), all = trained(calibrated(), options, &processes);
  EXPECT_EQ(all.losses.size(), processes.is_first() ? one.losses.size() : 0U) << "the first one reports";
  double loss = 0;
  for (std::size_t i = 0; i < all.losses.size(); ++i) loss = std::max(loss, std::abs(one.losses[i] - all.losses[i]));
  const double parameters = largest_difference(one.model.graph, all.model.graph);
  const double moved = largest_difference(one.model.graph, calibrated().graph);
  if (processes.is_first())
    std::cerr << processes.size() << " processes, loop " << options.loop << ", " << one.record.steps
              << " steps: largest difference of a loss " << loss << ", of a parameter " << parameters
              << "; the largest way of one " << moved << "\n";
  EXPECT_GT(moved, 1e-3);
  EXPECT_LE(parameters, tolerance * moved);
  EXPECT_LE(loss, tolerance);
  EXPECT_EQ(all.record.items, one.record.items);
}

// A gradient is a mean over 32 items of sums over some hundred positions, in float: rounding alone is 1e-4 of the way
// at most (a few thousand additions, 2^-24 each). But one ReLU that a last bit tips is another gradient from there on,
// here and there in 24 steps, on one machine and not on another: 1 % leaves room for it. With quantizers a difference
// in the last bit makes an activation round to the other code here and there, which is no rounding error: it is one of
// some hundred terms of a gradient, so one step is held to 2 %. In later steps weights do so too: of 24 only the order
// of magnitude is compared.
void expect_as_one(const Processes& processes) {
  TrainOptions options = frozen();
  options.loop = "in_float";
  expect_as_one(processes, options, 0.01);
  options.loop = "learn";
  expect_as_one(processes, options, 0.2);
  options.max_steps = 1;
  expect_as_one(processes, options, 0.02);
}

// Norms that are live go by the statistics of the whole batch.
void expect_as_one_with_live_norms(const Processes& processes) {
  TrainOptions options = frozen();
  options.freeze_bn_begin = 0;
  options.max_steps = 4;
  options.loop = "in_float";
  expect_as_one(processes, options, 0.01);
  options.loop = "learn";
  options.max_steps = 1;
  expect_as_one(processes, options, 0.02);
}

TEST(TrainTogether, TwoAreAsOne) {
  together(2, [](const Processes& processes) {
    expect_as_one(processes);
    expect_as_one_with_live_norms(processes);
  });
}
TEST(TrainTogether, FourAreAsOne) {
  together(4, [](const Processes& processes) {
    expect_as_one(processes);
    expect_as_one_with_live_norms(processes);
  });
}

// Without it the loss of the very first step is another: each process normalizes by its own share.
TEST(TrainTogether, NormsCanGoByShares) {
  together(2, [](const Processes& processes) {
    TrainOptions options = frozen();
    options.freeze_bn_begin = 0;
    options.max_steps = 1;
    const Trained one = trained(calibrated(), options, nullptr);
    options.sync_bn = false;
    const Trained two = trained(calibrated(), options, &processes);
    if (processes.is_first()) EXPECT_GT(std::abs(one.losses.at(0) - two.losses.at(0)), 1e-3);
  });
}

// Weights learn their scale from the first batch on; activations follow a moving average.
QuantizedModel learning_weights() {
  QuantConfig config;
  config.platform = "tensorrt_qdq";
  config.weight.bits = 4;
  config.weight.fake_quant = "lsq";
  config.activation.fake_quant = "fixed";
  config.weight.observer = "min_max";
  config.activation.observer = "ema_min_max";
  return prepare(net(), config, live());
}

QuantizedModel model_for(const std::string& loop) {
  if (loop == "learn") return calibrated();
  if (loop == "lsq_epoch") return prepared("lsq");
  return loop == "qat_epoch" ? prepared("fixed", "ema_min_max") : learning_weights();
}

// While they observe, quantizers go by the whole batch, though each process sees a share of it.
void expect_begins_as_one(const Processes& processes) {
  for (const std::string loop : {"learn", "lsq_epoch", "qat_epoch", "mixed"}) {
    TrainOptions options = quick();
    options.loop = loop == "mixed" ? "qat_epoch" : loop;
    options.max_steps = 4;
    options.keep_best = false;
    const Trained one = trained(model_for(loop), options, nullptr), all = trained(model_for(loop), options, &processes);
    ASSERT_EQ(one.losses.size(), 4U) << loop;
    ASSERT_EQ(all.losses.size(), processes.is_first() ? 4U : 0U) << loop;
    for (std::size_t i = 0; i < all.losses.size(); ++i)
      EXPECT_NEAR(all.losses[i], one.losses[i], i == 0 ? 1e-4 : 1e-2) << loop << ", step " << i + 1;
    for (const Node* node : quantizers_of(all.model.graph)) {
      const at::Tensor found = fake_quant_tensors(*node).scale().detach();
      const at::Tensor wanted = fake_quant_tensors(*one.model.graph.find_node(node->name())).scale().detach();
      EXPECT_LE(((found - wanted) / wanted).abs().max().item<double>(), 0.01) << loop << ", " << node->name();
    }
  }
}

TEST(TrainTogether, TwoBeginAsOne) { together(2, expect_begins_as_one); }
TEST(TrainTogether, FourBeginAsOne) { together(4, expect_begins_as_one); }

std::string bytes_of(const Graph& graph) {
  TensorMap all;
  for (const Value* value : graph.constants()) all.emplace(value->name(), value->tensor().detach().contiguous());
  return safetensors_bytes(all);
}

TEST(TrainTogether, AllEndWithTheSameBits) {
  together(3, [](const Processes& processes) {
    for (const std::string loop : {"learn", "qat_epoch", "lsq_epoch"}) {
      TrainOptions options = quick();
      options.loop = loop;
      options.batch = 33;
      options.ema = loop == "learn" ? 0.9 : 0.0;
      const std::string observer = loop == "qat_epoch" ? "ema_min_max" : "min_max";
      QuantizedModel model = loop == "learn" ? calibrated() : prepared(loop == "lsq_epoch" ? "lsq" : "fixed", observer);
      const Trained result = trained(std::move(model), options, &processes);
      EXPECT_LT(result.record.epochs.back().loss, result.record.epochs.front().loss) << loop;
      const std::vector<std::string> all = processes.gather(bytes_of(result.model.graph));
      for (const std::string& one : all) EXPECT_TRUE(one == all.front()) << loop;
    }
  });
}

// Every process reaches the same step, and none gets further.
std::int64_t g_last_step = 0;  // 0: never

class Interrupting : public TrainLoop {
 public:
  void prepare_for_run_epoch(Training& training) override {
    TrainLoop::prepare_for_run_epoch(training);
    training.set_flags({});  // see above: what differs is rounding
  }
  void run_epoch(Training& training) override {
    for (std::int64_t step = 1; training.run_batch(); ++step)
      if (8 * (training.epoch() - 1) + step == g_last_step) fail("interrupted");
  }
};
QUENCH_REGISTER_LOOP("interrupting", Interrupting, "of a test")

TrainOptions interruptible(const std::string& folder) {
  TrainOptions options = frozen();
  options.loop = "interrupting";
  options.checkpoint_every = 1;
  options.folder = folder;
  options.ema = 0.9;
  return options;
}

void run_to(std::int64_t step, const std::string& folder, const Processes* processes) {
  g_last_step = step;
  EXPECT_ERROR(trained(calibrated(), interruptible(folder), processes), "interrupted");
  g_last_step = 0;
}

void expect_resumes(const std::string& folder, std::int64_t step, const Processes* processes) {
  TrainOptions options = interruptible(folder);
  options.resume = true;
  const Trained resumed = trained(calibrated(), options, processes);
  EXPECT_EQ(resumed.record.resumed_from, step);
  EXPECT_EQ(resumed.record.steps, 24);
  EXPECT_EQ(resumed.record.items, 24 * 32);
  const Trained whole = trained(calibrated(), interruptible(""), nullptr);
  const double moved = largest_difference(whole.model.graph, calibrated().graph);
  EXPECT_LE(largest_difference(resumed.model.graph, whole.model.graph), 0.01 * moved);
  ASSERT_EQ(resumed.record.epochs.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(resumed.record.epochs[i].loss, whole.record.epochs[i].loss, 1e-3) << i;
}

constexpr const char* kFolder = "QUENCH_TEST_TOGETHER";

TEST(TrainTogether, OneIsResumedByTwo) {
  const TempFolder folder;
  if (!is_one_of_several()) {
    run_to(11, folder.path("run"), nullptr);
    ::setenv(kFolder, folder.path("run").c_str(), 1);
  }
  together(2, [](const Processes& processes) { expect_resumes(std::getenv(kFolder), 11, &processes); });
  ::unsetenv(kFolder);
}

TEST(TrainTogether, TwoAreResumedByOne) {
  const TempFolder folder;
  if (!is_one_of_several()) ::setenv(kFolder, folder.path("run").c_str(), 1);
  together(2, [](const Processes& processes) { run_to(13, std::getenv(kFolder), &processes); });
  if (!is_one_of_several()) expect_resumes(folder.path("run"), 13, nullptr);
  ::unsetenv(kFolder);
}

TEST(TrainTogether, SaysWhatCannotBeShared) {
  together(2, [](const Processes& processes) {
    TrainOptions options = quick();
    options.processes = &processes;
    QuantizedModel model = calibrated();
    options.batch = 31;
    EXPECT_ERROR(train(model, {items()}, options), "a batch of 31 items cannot be shared by 2 processes");
    options.batch = 512;
    EXPECT_ERROR(train(model, {items()}, options), "the training data has 256 items, fewer than one batch of 512");
  });
}

// They would wait for each other in different places.
TEST(TrainTogether, OtherOptionsInOneAreAnError) {
  together(2, [](const Processes& processes) {
    TrainOptions options = quick();
    options.processes = &processes;
    options.optimizer.lr = processes.is_first() ? 0.02 : 0.03;
    QuantizedModel model = calibrated();
    EXPECT_ERROR(train(model, {items()}, options),
                 "rank 1 of 2 has other training options (optimizer.lr=0.03) than rank 0 (optimizer.lr=0.02)");
  });
}

TEST(TrainTogether, SharesAreRowsOfTheBatch) {
  together(2, [](const Processes& processes) {
    QuantizedModel model = calibrated();
    TrainingGraph graph(model);
    const TrainTogether two(&processes, graph);
    LoadOptions order{.batch_size = 6, .shuffle = true, .seed = 5, .offset = 12};
    Loader whole(items(), order), share(items(), two.share_of(order));
    for (int batch = 0; batch < 3; ++batch) {
      const std::vector<std::int64_t> all = whole.next()->indices, own = share.next()->indices;
      const auto begin = all.begin() + 3 * processes.rank();
      EXPECT_EQ(own, std::vector<std::int64_t>(begin, begin + 3));
    }
    EXPECT_EQ(two.part(3).first, 3 * processes.rank());
    EXPECT_EQ(two.part(3).of, 6);
    EXPECT_EQ(two.weight_of(processes.rank() + 1), (processes.rank() + 1) / 1.5);
    EXPECT_EQ(two.own_seed(9) == 9, processes.is_first());
  });
}

TEST(TrainTogether, OneAloneTakesAll) {
  QuantizedModel model = calibrated();
  TrainingGraph graph(model);
  const TrainTogether one(nullptr, graph);
  EXPECT_EQ(one.share_of({.batch_size = 7}).batch_size, 7);
  EXPECT_EQ(one.share_of({.batch_size = 7}).parts, 1);
  EXPECT_EQ(one.part(7).of, 7);
  EXPECT_EQ(one.weight_of(3), 1);
  EXPECT_EQ(one.own_seed(9), 9U);
}

}  // namespace
}  // namespace quench
