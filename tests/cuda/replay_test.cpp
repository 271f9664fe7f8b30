// Captured and replayed runs on a GPU, copies that are not waited for, and small kernels.
#include "kernels/replay.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "kernels/device_copy.h"
#include "kernels/finish_conv.h"
#include "kernels/learned_params.h"
#include "measure/fast_run.h"
#include "quench/torch.h"
#include "quench/zoo_net.h"

namespace quench {
namespace {

#define NEEDS_CUDA() \
  if (!at::hasCUDA()) GTEST_SKIP() << "no CUDA device"

TEST(ReplayOnCuda, GoesOnFromWhatIsInMemory) {
  NEEDS_CUDA();
  const at::Tensor sum = at::zeros({}, at::kCUDA), one = at::ones({}, at::kCUDA);
  int calls = 0;
  Replay replay("cuda", [&] {
    ++calls;
    at::Tensor(sum).add_(one);
  });
  for (int i = 0; i < 10; ++i) replay.run();
  EXPECT_TRUE(replay.is_captured());
  EXPECT_EQ(calls, 4);  // three plain ones and the captured one
  EXPECT_EQ(sum.item<float>(), 10);
  at::Tensor(one).fill_(2);
  replay.run();
  EXPECT_EQ(sum.item<float>(), 12);
}

TEST(ReplayOnCuda, RunsWhatAsksTheHostAsItIs) {
  NEEDS_CUDA();
  const at::Tensor sum = at::zeros({}, at::kCUDA);
  Replay replay("cuda", [&] { at::Tensor(sum).add_(sum.item<float>() < 100 ? 1 : 0); });
  for (int i = 0; i < 8; ++i) replay.run();
  EXPECT_FALSE(replay.is_captured());
  EXPECT_NE(replay.refusal(), "");
  EXPECT_EQ(sum.item<float>(), 8);
}

TEST(DeviceCopyOnCuda, BringsWhatWasThere) {
  NEEDS_CUDA();
  Upload upload("cuda");
  for (int i = 0; i < 20; ++i) {
    const at::Tensor x = at::full({1 << 18}, i);
    Download back(upload.copy(x) * 2);
    EXPECT_TRUE(at::equal(back.wait(), x * 2));
  }
}

TEST(FinishConvOnCuda, IsTheSameAsOnTheCpu) {
  NEEDS_CUDA();
  for (const std::int64_t channels : {8, 6}) {  // the second is no multiple of four
    const at::Tensor x = at::randn({2, channels, 5, 3}).contiguous(at::MemoryFormat::ChannelsLast);
    const at::Tensor residual = at::randn_like(x), bias = at::randn({channels}), none;
    for (const bool all : {true, false}) {
      at::Tensor here = x.clone(), there = x.cuda();
      finish_conv(here, {bias, all ? residual : none, -0.5F, 1.0F});
      const at::Tensor far_bias = bias.cuda(), far_residual = residual.cuda();
      finish_conv(there, {far_bias, all ? far_residual : none, -0.5F, 1.0F});
      EXPECT_TRUE(at::equal(there.cpu(), here)) << channels;
    }
  }
}

TEST(LearnedParamsOnCuda, AreKeptWithinTheirBounds) {
  NEEDS_CUDA();
  const at::Tensor scale = at::tensor({-2.0F, 0.0F, 3.0F}).cuda(), zero = at::tensor({-1.0F, 2.5F, 99.0F}).cuda();
  at::Tensor used, codes;
  EXPECT_TRUE(learned_params_in_one(scale, zero, {0.25F, {0.0F, 15.0F, false}, false}, used, codes));
  EXPECT_TRUE(at::equal(used.cpu(), at::tensor({2.0F, 0.25F, 3.0F})));
  EXPECT_TRUE(at::equal(codes.cpu(), at::tensor({0.0F, 2.0F, 15.0F})));
  EXPECT_EQ(scale[0].item<float>(), -2.0F);
  EXPECT_TRUE(learned_params_in_one(scale, zero, {0.25F, {0.0F, 15.0F, false}, true}, used, codes));
  EXPECT_TRUE(at::equal(scale, used));
  EXPECT_TRUE(at::equal(zero.cpu(), at::tensor({0.0F, 2.5F, 15.0F})));
  EXPECT_TRUE(learned_params_in_one(scale, zero, {0.25F, {-8.0F, 7.0F, true}, true}, used, codes));
  EXPECT_TRUE(at::equal(codes.cpu(), at::zeros({3})));
}

TEST(LearnedParamsOnCuda, SlopesAreThoseOfTheReference) {
  NEEDS_CUDA();
  const QScheme scheme = QScheme::parse("uint4 affine tensor");
  const at::Tensor x = at::randn({3, 5, 7}) * 3, scale = at::scalar_tensor(0.3F), zero = at::scalar_tensor(4.0F);
  at::Tensor slopes;
  ASSERT_TRUE(slopes_in_one(x.cuda(), {scale.cuda(), zero.cuda(), scheme}, 0.5, slopes));
  const at::Tensor steps = x * scale.reciprocal(), rounded = steps.round();
  const at::Tensor expected =
      at::where(rounded < -4, at::full({}, -4.0F), at::where(rounded > 11, at::full({}, 11.0F), rounded - steps));
  EXPECT_TRUE(at::allclose(slopes.cpu(), expected * 0.5, 1e-6, 1e-6));
}

TEST(FastRunOnCuda, GivesEachBatchItsOwnResult) {
  NEEDS_CUDA();
  for (const char* name : {"resnet20_cifar", "mobilenet_v2"}) {
    auto net = make_zoo_model(name);
    net->eval();
    const std::int64_t size = ZooRegistry::instance().get(name).image_size;
    const Graph graph = from_module(*net, {at::zeros({2, 3, size, size})});
    const std::string input = graph.inputs()[0]->name();
    FastRun gpu(graph, "cuda");
    Executor plain(graph);
    std::vector<at::Tensor> images, results;
    for (int i = 0; i < 7; ++i) {
      images.push_back(at::randn({i == 6 ? 1 : 2, 3, size, size}));
      results.push_back(gpu.run({{input, RtValue(images.back())}}).tensor());
    }
    for (std::size_t i = 0; i < images.size(); ++i)  // convolutions in TF32
      EXPECT_TRUE(at::allclose(results[i].cpu(), plain.run({RtValue(images[i])})[0].tensor(), 2e-2, 2e-2)) << name << i;
  }
}

}  // namespace
}  // namespace quench
