#include <gtest/gtest.h>

#include <filesystem>

#include "graph/tensor_types.h"
#include "quench/executor.h"
#include "quench/ptq_method.h"
#include "quench/quantizers.h"
#include "reconstruct/augment.h"
#include "reconstruct/nets.h"
#include "reconstruct/rounding.h"
#include "support/expect_error.h"

namespace quench {
namespace {

ReconstructOptions joint(double iterations) {
  ReconstructOptions options;
  options.method = "brecq";
  options.options = Options{{"max_count", 100.0},       {"batch", 32.0},    {"lr", 1e-2},
                            {"weight_scale_lr", 1e-3},  {"joint_lr", 1e-2}, {"bias_lr", 1e-3},
                            {"joint_count", iterations}};
  return options;
}

TEST(Joint, BringsTheOutputCloserAndLeavesWeightsOnTheirGrids) {
  const auto data = random_images(64);
  QuantizedModel model = calibrated_net(*data);
  ReconstructOptions options = joint(600);
  options.options.set("joint_lr", 3e-3);
  const ReconstructionRecord record = reconstruct(model, *data, options);
  ASSERT_EQ(record.units.size(), 5U);
  const UnitRecord& all = record.units.back();
  EXPECT_EQ(all.name, "network");
  EXPECT_EQ(all.layers.size(), 6U);
  EXPECT_EQ(all.iterations, 600);
  EXPECT_NEAR(all.error_before, record.units[3].error_after, 1e-6);
  EXPECT_LT(all.error_after, 0.9 * all.error_before);
  for (const Node* node : quantizers_of(model.graph)) {
    EXPECT_EQ(fake_quant_spec(*node).algorithm, "fixed");
    if (fake_quant_spec(*node).role != Role::kWeight) continue;
    const at::Tensor weight = node->input(0)->tensor();
    EXPECT_TRUE(weight.equal(fake_quant_of(*node)->quantize(weight, fake_quant_tensors(*node), {}))) << node->name();
  }
}

// An iteration of all four units counts as much as one of each, and what is done never exceeds what there is.
TEST(Joint, ItsShareOfTheTimeLeftIsKnownFromTheBeginning) {
  const auto data = random_images(32);
  QuantizedModel model = calibrated_net(*data);
  ReconstructOptions options = joint(200);
  constexpr std::int64_t units = 4;
  std::int64_t before = 0;
  options.progress = [&](const std::string&, std::int64_t done, std::int64_t total) {
    EXPECT_EQ(total, units * (100 + 200));
    EXPECT_GE(done, before);  // rounded: a step of a small unit may not show
    EXPECT_LE(done, total);
    before = done;
  };
  reconstruct(model, *data, options);
  EXPECT_EQ(before, units * (100 + 200));
}

TEST(Joint, AnInterruptedRunGoesOnToTheSameBits) {
  std::string folder = (std::filesystem::temp_directory_path() / "quench_joint_XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const auto data = random_images(24);
  QuantizedModel whole = calibrated_net(*data), resumed = calibrated_net(*data);
  ReconstructOptions options = joint(20);
  options.options.set("joint_augment", std::string("flip,crop,cut,mix"));
  reconstruct(whole, *data, options);
  options.checkpoint = folder;
  options.unit_done = [](const UnitRecord&, std::size_t index, std::size_t count) {
    EXPECT_EQ(count, 5U);
    if (index == 4) fail("interrupted");
  };
  EXPECT_ERROR(reconstruct(resumed, *data, options), "interrupted");
  options.unit_done = {};
  for (const bool has_network : {false, true}) {
    QuantizedModel model = calibrated_net(*data);
    EXPECT_EQ(reconstruct(model, *data, options).units.back().resumed, has_network);
    for (const Value* constant : whole.graph.constants())
      EXPECT_TRUE(bit_equal(constant->tensor(), model.graph.value(constant->name()).tensor())) << constant->name();
  }
  std::filesystem::remove_all(folder);
}

// Rates that are far too high make the network worse: then it stays what the units made it.
TEST(Joint, KeepsWhatWasBetter) {
  const auto data = random_images(32);
  QuantizedModel units = calibrated_net(*data), worse = calibrated_net(*data);
  ReconstructOptions options = joint(0);
  options.options.set("bias_lr", 0.0);
  reconstruct(units, *data, options);
  for (const char* name : {"joint_count", "joint_lr", "joint_scale_lr"}) options.options.set(name, 5.0);
  const ReconstructionRecord record = reconstruct(worse, *data, options);
  EXPECT_EQ(record.units.back().note, UnitRecord::kNotKept);
  EXPECT_NEAR(record.units.back().error_after, record.units.back().error_before, 1e-9);
  for (const Value* constant : units.graph.constants())
    EXPECT_TRUE(bit_equal(constant->tensor(), worse.graph.value(constant->name()).tensor())) << constant->name();
}

// That nothing of it was kept is kept, too.
TEST(Joint, ResumesAfterAJointStageThatWasNotKept) {
  std::string folder = (std::filesystem::temp_directory_path() / "quench_joint_XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const auto data = random_images(24);
  ReconstructOptions options = joint(5);
  for (const char* name : {"joint_lr", "joint_scale_lr"}) options.options.set(name, 5.0);
  options.checkpoint = folder;
  QuantizedModel whole = calibrated_net(*data), resumed = calibrated_net(*data);
  const UnitRecord first = reconstruct(whole, *data, options).units.back();
  const UnitRecord again = reconstruct(resumed, *data, options).units.back();
  EXPECT_FALSE(first.resumed);
  EXPECT_TRUE(again.resumed);
  for (const UnitRecord& one : {first, again}) {
    EXPECT_EQ(one.note, UnitRecord::kNotKept);
    EXPECT_EQ(one.error_after, first.error_before);
    EXPECT_EQ(one.iterations, 5);
    EXPECT_EQ(one.moved, first.moved);
  }
  for (const Value* constant : whole.graph.constants())
    EXPECT_TRUE(bit_equal(constant->tensor(), resumed.graph.value(constant->name()).tensor())) << constant->name();
  std::filesystem::remove_all(folder);
}

// As a network of half floats is imported: the types of its inputs and outputs stay, everything between is widened.
TEST(Joint, LearnsBetweenCasts) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat16, {Dim::symbol("N"), 3, 8, 8}));
  Node& widened = graph.add("Cast", "widened", {&x});
  widened.attrs["to"] = static_cast<std::int64_t>(DType::kFloat);
  Value& first = graph.add_constant("w1", at::randn({8, 3, 3, 3}));
  Value& conv = graph.add("Conv", "conv1", {&widened.output(), &first}).output();
  Value* inner = &graph.add("Relu", "relu", {&conv}).output();
  for (const std::string name : {"conv2", "conv3"})  // the first and the last layer have 8 bits
    inner = &graph.add("Conv", name, {inner, &graph.add_constant(name + ".w", at::randn({8, 8, 2, 2}))}).output();
  Node& narrowed = graph.add("Cast", "narrowed", {inner}, std::vector<std::string>{"y"});
  narrowed.attrs["to"] = static_cast<std::int64_t>(DType::kFloat16);
  graph.add_output(narrowed.output());
  infer_shapes(graph);
  std::vector<at::Tensor> items;
  for (int i = 0; i < 32; ++i) items.push_back(at::randn({3, 8, 8}).to(at::kHalf));
  const auto data = dataset_of(items);
  QuantizedModel model = prepare_by_platform(graph, "academic", few_bits(4));
  calibrate(model, *data);
  ReconstructOptions options = joint(200);
  options.options.set("joint_augment", std::string("flip,crop,cut,mix"));
  options.options.set("max_count", 2.0);  // so that something is left to learn
  const ReconstructionRecord record = reconstruct(model, *data, options);
  EXPECT_EQ(record.units.back().name, "network");
  EXPECT_TRUE(record.notes.empty()) << record.notes[0];
  const UnitRecord& network = record.units.back();
  EXPECT_LT(network.error_after, network.error_before);
  EXPECT_GT(network.moved, 0);
}

// Only what leaves float is compared before the cast: this network computes its softmax in double.
TEST(Joint, LearnsBeforeACastBackToFloat) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 3, 8, 8}));
  Value& weight = graph.add_constant("w", at::randn({4, 3, 3, 3}));
  Node& wide = graph.add("Cast", "wide", {&graph.add("Conv", "conv", {&x, &weight}).output()});
  wide.attrs["to"] = static_cast<std::int64_t>(DType::kDouble);
  Node& softmax = graph.add("Softmax", "softmax", {&wide.output()});
  softmax.attrs["axis"] = std::int64_t{1};
  Node& back = graph.add("Cast", "back", {&softmax.output()}, std::vector<std::string>{"y"});
  back.attrs["to"] = static_cast<std::int64_t>(DType::kFloat);
  graph.add_output(back.output());
  infer_shapes(graph);
  const auto data = random_images(16);
  QuantizedModel model = prepare_by_platform(graph, "academic", few_bits(4));
  calibrate(model, *data);
  const ReconstructionRecord record = reconstruct(model, *data, joint(5));
  EXPECT_EQ(record.units.back().name, "network");
  EXPECT_TRUE(record.notes.empty()) << record.notes[0];
}

// A user's method that leaves its units alone, and then makes the network worse.
void leave(UnitWork&, UnitRecord&) {}
void spoil(UnitWork& network, UnitRecord&) {
  ASSERT_FALSE(network.biases().empty());
  for (Value* bias : network.biases()) network.commit(*bias, bias->tensor() + 1);
}
QUENCH_REGISTER_PTQ_METHOD("spoils", leave, "makes the network worse", {}, "block", nullptr, spoil)

// It is said, and once, also when resumed.
TEST(Joint, SaysThatTheOutputsErrorGrew) {
  std::string folder = (std::filesystem::temp_directory_path() / "quench_joint_XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const auto data = random_images(24);
  const ReconstructOptions options{.method = "spoils", .checkpoint = folder};
  QuantizedModel whole = calibrated_net(*data), resumed = calibrated_net(*data);
  const UnitRecord first = reconstruct(whole, *data, options).units.back();
  const UnitRecord again = reconstruct(resumed, *data, options).units.back();
  EXPECT_TRUE(again.resumed);
  EXPECT_GT(first.error_after, first.error_before);
  EXPECT_EQ(first.note, "the error of the network's output grew (docs/numerics.md 15.5)");
  EXPECT_EQ(again.note, first.note);
  std::filesystem::remove_all(folder);
}

// A rounding that goes on gives at first what was learned, with the scale that was learned.
TEST(Joint, BeginsAtWhatWasLearned) {
  const auto data = random_images(32);
  const QuantizedModel before = calibrated_net(*data);
  for (const bool straight_through : {false, true}) {
    QuantizedModel after(before.graph.clone(), before.plan, before.stage);
    ReconstructOptions options = joint(0);
    if (straight_through) options.options.set("round_mode", std::string("straight_through"));
    reconstruct(after, *data, options);
    for (const Node* node : quantizers_of(after.graph)) {
      if (fake_quant_spec(*node).role != Role::kWeight) continue;
      const Rounding rounding(*node, *before.graph.find_node(node->name()), "cpu", {straight_through, true});
      EXPECT_TRUE(at::allclose(rounding.hard(), node->input(0)->tensor(), 1e-5, 1e-6)) << node->name();
      EXPECT_TRUE(at::allclose(rounding.scale(), node->input(1)->tensor(), 1e-6, 0)) << node->name();
      EXPECT_LT(rounding.alpha().detach().abs().max().item<double>(), 2) << node->name();  // there is a gradient
    }
  }
}

TEST(Augment, VariesImagesByTheCounter) {
  const at::Tensor images = at::rand({64, 3, 16, 24});
  const auto varied = [&](const char* words, std::int64_t counter) {
    return Augment(words, 7).varied({{"x", RtValue(images)}}, at::full({1}, counter, at::kLong)).at("x").tensor();
  };
  for (const char* nothing : {"", "none"}) EXPECT_TRUE(varied(nothing, 1).equal(images));
  const at::Tensor flipped = varied("flip", 1);
  int mirrored = 0;
  for (int i = 0; i < 64; ++i) {
    EXPECT_TRUE(flipped[i].equal(images[i]) || flipped[i].equal(images[i].flip(2)));
    mirrored += flipped[i].equal(images[i].flip(2));
  }
  EXPECT_GT(mirrored, 16);
  EXPECT_LT(mirrored, 48);
  EXPECT_TRUE(varied("flip", 1).equal(flipped));
  EXPECT_FALSE(varied("flip", 2).equal(flipped));
  // Shifted by at most an eighth: the middle of the result lies in the image around there.
  const at::Tensor cropped = varied("crop", 3);
  int found = 0;
  for (int down = -2; down <= 2; ++down)
    for (int right = -3; right <= 3; ++right)
      found +=
          cropped[5].narrow(1, 4, 8).narrow(2, 4, 16).equal(images[5].narrow(1, 4 + down, 8).narrow(2, 4 + right, 16));
  EXPECT_EQ(found, 1);
  EXPECT_FALSE(cropped.equal(images));
  const at::Tensor cut = varied("cut", 5), before = images.roll(1, 0);
  double most = 0;
  for (int i = 0; i < 64; ++i) {
    const at::Tensor taken = cut[i].eq(before[i]).all(0);  // of the neighbour: a window, in all channels
    EXPECT_TRUE(cut[i].equal(at::where(taken, before[i], images[i])));
    const at::Tensor rows = taken.any(1), columns = taken.any(0);
    EXPECT_TRUE(taken.equal(rows.unsqueeze(1).logical_and(columns.unsqueeze(0)))) << i;
    most = std::max(most, taken.to(at::kFloat).mean().item<double>());
  }
  EXPECT_GT(most, 0.3);
  EXPECT_LT(most, 0.8);
  const at::Tensor mixed = varied("mix", 4), other = images.roll(1, 0), range = images - other;
  const at::Tensor share = ((mixed - other) * range).sum({1, 2, 3}, true) / range.square().sum({1, 2, 3}, true);
  EXPECT_TRUE(at::allclose(mixed, other + share * range, 1e-4, 1e-5));
  EXPECT_GE(share.min().item<double>(), 0.499);
  EXPECT_LE(share.max().item<double>(), 1.001);
  EXPECT_GT(share.std().item<double>(), 0.1);
}

// What else a network reads is not for it to guess at.
TEST(Augment, VariesPicturesAloneWhenItIsToDecide) {
  const auto varies = [](const NamedValues& inputs) {
    const NamedValues varied = Augment("auto", 7).varied(inputs, at::full({1}, 1, at::kLong));
    return std::any_of(inputs.begin(), inputs.end(), [&](const auto& input) {
      return !varied.at(input.first).tensor().equal(input.second.tensor());
    });
  };
  const RtValue picture(at::rand({8, 3, 16, 16})), features(at::rand({8, 64, 16, 16})), row(at::rand({8, 3}));
  EXPECT_TRUE(varies({{"x", picture}}));
  EXPECT_FALSE(varies({{"x", features}}));
  EXPECT_FALSE(varies({{"x", row}}));
  EXPECT_FALSE(varies({{"x", picture}, {"mask", RtValue(at::rand({8, 1, 16, 16}))}}));
}

TEST(Augment, SaysWhatItDoesNotKnow) {
  EXPECT_ERROR(Augment("flip,turn", 0), "unknown variation 'turn' of images in 'joint_augment'");
  EXPECT_ERROR(Augment("auto,flip", 0), "is auto or a list of flip, crop, cut, mix, not both");
  for (const char* words : {",", "flip,", ",flip", "flip,,mix"}) EXPECT_ERROR(Augment(words, 0), "unknown variation");
}

// Before the first unit learns, not after the last.
TEST(Augment, IsRefusedWhereThereAreNoImages) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 8}));
  Value& weight = graph.add_constant("weight", at::randn({8, 8}));
  graph.add_output(graph.add("Gemm", "gemm", {&x, &weight}).output());
  infer_shapes(graph);
  std::vector<at::Tensor> items(8, at::ones({8}));
  const auto data = dataset_of(items);
  QuantizedModel model = prepare_by_platform(graph, "academic", few_bits(4));
  calibrate(model, *data);
  ReconstructOptions options = joint(2);
  options.options.set("joint_augment", std::string("flip"));
  options.unit_done = [](const UnitRecord&, std::size_t, std::size_t) { ADD_FAILURE() << "a unit was learned"; };
  EXPECT_ERROR(reconstruct(model, *data, options), "'joint_augment' varies images, and the network reads none");
  options.unit_done = {};
  options.options.set("joint_augment", std::string("auto"));
  EXPECT_EQ(reconstruct(model, *data, options).units.back().name, "network");
}

}  // namespace
}  // namespace quench
