#include "qat/job_key.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "qat/quarters_net.h"
#include "quench/train_loop.h"

namespace quench {
namespace {

TEST(JobKey, IsOfWhatDecidesTheResult) {
  const QuantizedModel model = calibrated();
  TrainOptions options = quick();
  const auto key = [&] { return job_key(model, {items(), &others()}, options); };
  const std::uint64_t first = key();
  options.folder = "elsewhere";
  options.resume = true;
  EXPECT_EQ(key(), first);
  options.optimizer.lr *= 1.0000001;
  EXPECT_NE(key(), first);
  options = quick();
  options.seed += 1;
  EXPECT_NE(key(), first);
  options = quick();
  EXPECT_NE(job_key(model, {items()}, options), first);
}

class Tuned : public TrainLoop {};
QUENCH_REGISTER_LOOP("tuned", Tuned, "of a test", {"alpha", 0.5, "a number"}, {"word", "a", "a word"})

// Options of the loop decide the result, whether or not they are said.
TEST(JobKey, KnowsOptionsOfTheLoop) {
  const QuantizedModel model = calibrated();
  TrainOptions options = quick();
  options.loop = "tuned";
  const auto key = [&](const Options& given) {
    options.loop_options = given;
    return job_key(model, {items()}, options);
  };
  const std::uint64_t first = key({});
  EXPECT_EQ(key({{"alpha", 0.5}}), first);
  EXPECT_NE(key({{"alpha", 0.25}}), first);
  EXPECT_NE(key({{"word", "b"}}), first);
}

// The same structure and sizes with other numbers inside is another job; when something is logged is not.
TEST(JobKey, KnowsWeightsAndItems) {
  const QuantizedModel model = calibrated();
  TrainOptions options = quick();
  const std::uint64_t first = job_key(model, {items()}, options);
  options.log_every = 7;
  options.checkpoint_every = 9;
  options.max_steps = 5;  // of an interrupted run that is to end here
  EXPECT_EQ(job_key(model, {items()}, options), first);
  QuantizedModel other = model;
  other.graph = model.graph.clone();
  at::Tensor(other.graph.parameters().front()->tensor()).add_(1);
  EXPECT_NE(job_key(other, {items()}, options), first);
  EXPECT_NE(job_key(model, {Quarters(items().size(), 99)}, options), first);
  EXPECT_NE(job_key(model, {items()}, options, &model.graph), first);
}

// Each of several processes has another GPU.
TEST(JobKey, IsTheSameOnAnyGpu) {
  const QuantizedModel model = calibrated();
  TrainOptions options = quick();
  const std::uint64_t on_cpu = job_key(model, {items()}, options);
  options.device = "cuda:0";
  const std::uint64_t on_first = job_key(model, {items()}, options);
  options.device = "cuda:1";
  EXPECT_EQ(job_key(model, {items()}, options), on_first);
  EXPECT_NE(on_first, on_cpu);
}

}  // namespace
}  // namespace quench
