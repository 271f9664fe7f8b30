#include "reconstruct/unit_at_work.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "graph/tensor_types.h"
#include "quench/quantizers.h"
#include "reconstruct/nets.h"
#include "support/expect_error.h"

namespace quench {
namespace {

// Doubles every scale and weight, and moves the zero points of activations.
void stretch(UnitWork& work, UnitRecord&) {
  for (const Node* node : work.weights()) {
    const at::Tensor weight = node->input(0)->tensor() * 2;
    work.commit(*node->input(1), node->input(1)->tensor() * 2);
    work.commit(*node->input(0), weight);
  }
  for (const Node* node : work.activations()) {
    work.commit(*node->input(1), node->input(1)->tensor() * 2);
    work.commit(*node->input(2), node->input(2)->tensor() + 1);
  }
}
QUENCH_REGISTER_PTQ_METHOD("stretch", stretch, "for a test", {}, "block")

ReconstructOptions by(const std::string& method) {
  ReconstructOptions options;
  options.method = method;
  return options;
}

TEST(UnitAtWork, AMethodCommitsScalesAndZeroPoints) {
  const auto data = random_images(8);
  const QuantizedModel before = calibrated_net(*data, 4);
  QuantizedModel after = before;
  reconstruct(after, *data, by("stretch"));
  for (const Node* node : quantizers_of(before.graph)) {
    const auto now = [&](int slot) { return after.graph.value(node->input(slot)->name()).tensor(); };
    EXPECT_TRUE(now(1).equal(node->input(1)->tensor() * 2)) << node->name();
    if (fake_quant_spec(*node).role == Role::kActivation) {
      EXPECT_TRUE(now(2).equal(node->input(2)->tensor() + 1)) << node->name();
      continue;
    }
    // The codes are those of before: the grid was stretched with the weight.
    const at::Tensor rounded = fake_quant_of(*node)->quantize(node->input(0)->tensor(), fake_quant_tensors(*node), {});
    EXPECT_TRUE(now(0).equal(rounded * 2)) << node->name();
  }
}

// The products are coarser, and the result is as good.
TEST(UnitAtWork, StepsInBfloat16) {
  const auto data = random_images(32);
  QuantizedModel fine = calibrated_net(*data), coarse = calibrated_net(*data);
  ReconstructOptions options = by("qdrop");
  options.options = Options{{"max_count", 150.0}, {"batch", 16.0}, {"lr", 1e-2}};
  const ReconstructionRecord before = reconstruct(fine, *data, options);
  options.options.set("bf16", 1.0);
  const ReconstructionRecord after = reconstruct(coarse, *data, options);
  const auto weight = [](const QuantizedModel& model) { return model.graph.value("block0.conv1.weight").tensor(); };
  EXPECT_FALSE(weight(fine).equal(weight(coarse)));
  EXPECT_EQ(weight(coarse).scalar_type(), at::kFloat);
  for (std::size_t i = 1; i < before.units.size(); ++i) {
    EXPECT_LT(after.units[i].error_after, after.units[i].error_before);
    EXPECT_LT(after.units[i].error_after, 1.3 * before.units[i].error_after);
  }
}

TEST(UnitAtWork, WhatAMethodCommittedIsInTheCheckpoint) {
  std::string folder = (std::filesystem::temp_directory_path() / "quench_unit_at_work_XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const auto data = random_images(8);
  QuantizedModel whole = calibrated_net(*data, 4), resumed = calibrated_net(*data, 4);
  reconstruct(whole, *data, by("stretch"));
  ReconstructOptions options = by("stretch");
  options.checkpoint = folder;
  options.unit_done = [](const UnitRecord&, std::size_t index, std::size_t) {
    if (index == 3) fail("interrupted");
  };
  EXPECT_ERROR(reconstruct(resumed, *data, options), "interrupted");
  options.unit_done = {};
  EXPECT_TRUE(reconstruct(resumed, *data, options).units[2].resumed);
  for (const Value* constant : whole.graph.constants())
    EXPECT_TRUE(bit_equal(constant->tensor(), resumed.graph.value(constant->name()).tensor())) << constant->name();
  std::filesystem::remove_all(folder);
}

// What the test that runs at the moment tries to commit.
std::function<void(UnitWork& work)> attempt;
void try_it(UnitWork& work, UnitRecord&) { attempt(work); }
QUENCH_REGISTER_PTQ_METHOD("attempt", try_it, "for a test", {}, "layer")

TEST(UnitAtWork, SaysWhatCannotBeCommitted) {
  const auto data = random_images(8);
  QuantizedModel model = calibrated_net(*data, 4);
  const auto first = [](UnitWork& work) { return work.weights().front()->input(1); };
  attempt = [&](UnitWork& work) { work.commit(*first(work), first(work)->tensor() * -1); };
  EXPECT_ERROR(reconstruct(model, *data, by("attempt")), "the scale 'stem.conv.weight.fq.scale' must be positive");
  attempt = [&](UnitWork& work) { work.commit(*first(work), first(work)->tensor() / 0); };
  EXPECT_ERROR(reconstruct(model, *data, by("attempt")), "became NaN or infinite");
  attempt = [&](UnitWork& work) { work.commit(*first(work), at::ones({3})); };
  EXPECT_ERROR(reconstruct(model, *data, by("attempt")), "cannot become a tensor of the shape [3]");
  attempt = [&](UnitWork& work) {
    Value& other = *model.graph.find_value("block1.conv1.weight.fq.scale");
    work.commit(other, other.tensor());
  };
  EXPECT_ERROR(reconstruct(model, *data, by("attempt")), "nor read by one of its quantizers");
}

TEST(UnitAtWork, PowersOfTwoStayPowersOfTwo) {
  const auto data = random_images(8);
  QuantizedModel model = calibrated_net(*data, 0, "vitis");
  const auto times = [&](double factor) {
    return [factor](UnitWork& work) {
      for (const Node* node : work.weights()) work.commit(*node->input(1), node->input(1)->tensor() * factor);
    };
  };
  attempt = times(3);
  EXPECT_ERROR(reconstruct(model, *data, by("attempt")), "must be a power of two");
  attempt = times(4);
  reconstruct(model, *data, by("attempt"));
}

TEST(UnitAtWork, DrawsOfSeveralStepsAreThoseOfEach) {
  const auto data = random_images(11);
  QuantizedModel model = calibrated_net(*data, 4);
  attempt = [](UnitWork& work) {
    const at::Tensor several = work.draws(3, 5);
    for (std::int64_t i = 0; i < 5; ++i) EXPECT_TRUE(several[i].equal(work.draw(3 + i)));
  };
  reconstruct(model, *data, by("attempt"));
}

}  // namespace
}  // namespace quench
