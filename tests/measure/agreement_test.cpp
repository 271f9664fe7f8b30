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
  const std::string warning = fallen_apart_warning(record, config).value();
  EXPECT_NE(warning.find("3 of 32 predictions"), std::string::npos) << warning;
  EXPECT_NE(warning.find("'layer-1.5' (-1.5 dB), 'layer7' (7.0 dB), 'layer12' (12.0 dB). Try --equalize; "),
            std::string::npos)
      << warning;
  EXPECT_NE(warning.find("--bias-correction fast"), std::string::npos) << warning;
  config.equalize = true;
  config.bias_correction = BiasCorrection::kFast;
  const std::string less = fallen_apart_warning(record, config).value();
  EXPECT_EQ(less.find("--equalize"), std::string::npos) << less;
  EXPECT_EQ(less.find("--bias-correction"), std::string::npos) << less;
}

}  // namespace
}  // namespace quench
