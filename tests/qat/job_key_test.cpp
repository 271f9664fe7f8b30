#include "qat/job_key.h"

#include <gtest/gtest.h>

#include "qat/quarters_net.h"

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
