#include <gtest/gtest.h>

#include "platforms/gated_graph.h"
#include "platforms/zoo_graph.h"

namespace quench {
namespace {

TEST(Nnie, CountsOfTheReference) {
  EXPECT_EQ(counts("nnie", "resnet18"), (Counts{31, 21}));
  EXPECT_EQ(counts("nnie", "mobilenet_v2"), (Counts{64, 53}));
}

TEST(Nnie, PlansASmallGraph) {
  EXPECT_EQ(small_plan("nnie"),
            "x: log8 tensor\n"
            "w1: log8 tensor\n"
            "relu: log8 tensor\n"
            "pool: log8 tensor\n"
            "gate: log8 tensor\n"
            "w2: log8 tensor\n"
            "conv2: log8 tensor\n"
            "sum: log8 tensor\n"
            "flat: log8 tensor\n"
            "w3: log8 tensor\n");
}

TEST(Nnie, OnlyObserversMayBeChanged) {
  QuantConfig config = settings_for("nnie");
  config.activation.observer = "min_max";
  EXPECT_EQ(make_plan(gated_graph(), config).find("x")->observer, "min_max");
  config.activation.bits = 4;
  EXPECT_REFUSES(config,
                 "platform 'nnie' keeps its schemes and fake quantizers: only the observer may be changed, but "
                 "the settings of the activations say more");
  config.activation.bits.reset();
  LayerRule rule;
  rule.match = "conv2";
  rule.weight.fake_quant = "lsq";
  config.layers = {rule};
  EXPECT_REFUSES(config, "the settings of the rule {match: conv2} say more");
}

}  // namespace
}  // namespace quench
