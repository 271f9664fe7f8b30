#include "quench/agreement.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "calibrate/small_graph.h"
#include "quantize/fallen_apart.h"

namespace quench {
namespace {

// y = x W: scores of three classes, or one number.
Graph scores(const std::string& weight, int classes, const std::string& batch = "\"N\"") {
  return parse_graph(concat("graph \"g\" {\n  input %x : float[", batch, ", 3]\n  const %w : float[3, ", classes,
                            "] = {", weight, "}\n  %y = MatMul \"y\" (%x, %w) : float[", batch, ", ", classes,
                            "]\n  output %y\n}"));
}
constexpr const char* kSame = "1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0";
constexpr const char* kRolled = "0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0";

at::Tensor items() {
  at::manual_seed(7);
  return at::randn({50, 3});
}

TEST(Agreement, CountsEqualPredictionsOnAFewItems) {
  const TensorData data(items());
  const AgreementRecord same = agreement(scores(kSame, 3), scores(kSame, 3), data);
  EXPECT_EQ(same.items, 32);
  EXPECT_EQ(same.rows, 32);
  EXPECT_EQ(same.same, 32);
  EXPECT_FALSE(same.fallen_apart());
  const AgreementRecord rolled = agreement(scores(kSame, 3), scores(kRolled, 3), data);
  EXPECT_EQ(rolled.same, 0);
  EXPECT_TRUE(rolled.fallen_apart());
}

TEST(Agreement, FillsUpAFixedBatchWithoutCountingTheCopies) {
  const TensorData data(items().narrow(0, 0, 10));
  const AgreementRecord record = agreement(scores(kSame, 3, "4"), scores(kRolled, 3, "4"), data);
  EXPECT_EQ(record.items, 10);
  EXPECT_EQ(record.rows, 10);
}

// One number is not a choice between classes: the error's power decides. -20 dB, then -6.
TEST(Agreement, OutputsThatAreNoScoresAreJudgedByTheirError) {
  const TensorData data(items());
  const Graph plain = scores("1.0, 1.0, 1.0", 1);
  const AgreementRecord good = agreement(plain, scores("1.1, 1.1, 1.1", 1), data);
  EXPECT_EQ(good.rows, 0);
  EXPECT_NEAR(good.sqnr, 20.0, 1e-3);
  EXPECT_FALSE(good.fallen_apart());
  const AgreementRecord bad = agreement(plain, scores("1.5, 1.5, 1.5", 1), data);
  EXPECT_NEAR(bad.sqnr, 6.0206, 1e-3);
  EXPECT_TRUE(bad.fallen_apart());
}

// Few items and few classes agree by chance where little of the scores is left.
TEST(Agreement, ScoresThatAreMostlyNoiseHaveFallenApart) {
  EXPECT_FALSE((AgreementRecord{32, 32, 28, 6.0}).fallen_apart());
  EXPECT_TRUE((AgreementRecord{32, 32, 24, 1.1}).fallen_apart());
  EXPECT_TRUE((AgreementRecord{32, 32, 32, std::nan("")}).fallen_apart());
}

TEST(FallenApart, NamesTheWorstLayersAndWhatIsLeftToTry) {
  QuantizeRecord record;
  JobConfig config;
  EXPECT_FALSE(fallen_apart_warning(record, config));
  record.agreement = AgreementRecord{32, 32, 31, 20.0};
  EXPECT_FALSE(fallen_apart_warning(record, config));
  record.agreement->same = 3;
  record.profile.emplace();
  for (const double sqnr : {30.0, -1.5, 12.0, 7.0}) {
    LayerProfile layer;
    layer.name = concat("layer", sqnr);
    layer.standalone.sqnr.value = sqnr;
    record.profile->layers.push_back(layer);
  }
  record.profile->layers[3].stays_float = true;  // 7 dB
  record.profile->layers[1].parts.weight.value = 3.0;
  record.plan.emplace();
  const auto warning = [&] { return fallen_apart_warning(record, config).value(); };
  const auto says = [&](const std::string& part) { return warning().find(part) != std::string::npos; };
  EXPECT_TRUE(says("3 of 32 predictions")) << warning();
  EXPECT_TRUE(says("'layer-1.5' (-1.5 dB, most by its input), 'layer12' (12.0 dB, most by its weight), 'layer30' "))
      << warning();
  EXPECT_TRUE(says(". Try balanced channels (the setting equalize=true); ")) << warning();
  EXPECT_TRUE(says("the setting bias_correction=fast")) << warning();
  EXPECT_TRUE(says("the setting 'layers=[{match: \"layer-1.5\", float: true}]'")) << warning();
  config.equalize = true;
  config.bias_correction = BiasCorrection::kFast;
  EXPECT_FALSE(says("equalize")) << warning();
  EXPECT_FALSE(says("bias_correction")) << warning();
}

// It does not suggest what is in use.
TEST(FallenApart, SuggestsNothingThatIsInUse) {
  QuantizeRecord record;
  JobConfig config;
  record.agreement = AgreementRecord{32, 32, 3, 20.0};
  PlanEntry entry;
  entry.role = Role::kActivation;
  entry.observer = "mse";
  record.plan.emplace().entries = {entry};
  const auto warning = [&] { return fallen_apart_warning(record, config).value(); };
  const auto says = [&](const std::string& part) { return warning().find(part) != std::string::npos; };
  EXPECT_FALSE(says("observer=mse")) << warning();
  EXPECT_TRUE(says("the setting defaults.activation.observer=min_max")) << warning();
  EXPECT_TRUE(says("QuantizeData::profile")) << warning();
  EXPECT_FALSE(says("learned rounding")) << warning();
  record.plan->entries[0].scheme = QScheme::parse("int4 symmetric tensor");
  EXPECT_TRUE(says("the setting method.name=blockwise")) << warning();
  config.method.name = "qdrop";
  for (const char* tip : {"method", "equalize", "bias_correction"}) EXPECT_FALSE(says(tip)) << warning();
  config.train.emplace();
  EXPECT_TRUE(says("a learning rate below 0.01 (TrainOptions::optimizer); ")) << warning();
  EXPECT_TRUE(says("the setting train.distill.weight=0.5")) << warning();
  TrainEpoch first, last;
  first.loss = 2, last.loss = 1;
  record.trained.emplace().epochs = {first, last};
  EXPECT_TRUE(says("more epochs: the training loss still falls; another learning rate than 0.01")) << warning();
  EXPECT_FALSE(says("a learning rate below")) << warning();
  config.train->distill.weight = 0.5;
  EXPECT_FALSE(says("distill")) << warning();
}

}  // namespace
}  // namespace quench
