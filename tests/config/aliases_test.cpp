// Every alias of observers, fake quantizers and platforms, and operators by torch's names.
#include "config/aliases.h"

#include <map>

#include "config/jobs.h"
#include "config/torch_types.h"

namespace quench {
namespace {

TEST(ConfigAliases, ObserversByTheNamesOfOthers) {
  const std::map<std::string, std::string> names = {
      {"MinMaxObserver", "min_max"},
      {"MinMax", "min_max"},
      {"PerChannelMinMaxObserver", "min_max"},
      {"mmrazor.PerChannelMinMaxObserver", "min_max"},
      {"mmrazor::MinMaxObserver", "min_max"},
      {"EMAMinMaxObserver", "ema_min_max"},
      {"MovingAverageMinMaxObserver", "ema_min_max"},
      {"MovingAveragePerChannelMinMaxObserver", "ema_min_max"},
      {"LSQObserver", "lsq"},
      {"LSQPerChannelObserver", "lsq"},
      {"LSQPlusObserver", "lsq_plus"},
      {"EMAQuantileObserver", "ema_quantile"},
      {"ClipStdObserver", "clip_std"},
      {"ClipStd", "clip_std"},
      {"MSEObserver", "mse"},
      {"EMAMSEObserver", "ema_mse"},
      {"EMAMSE", "ema_mse"},
      {"MinMaxFloorObserver", "min_max_floor"},
      {"PoTModeObserver", "pot_mode"},
      {"EMAMinMaxFloorObserver", "pot_mode"},
      {"torch.quantization.HistogramObserver", "histogram"},
      {"ema_quantile", "ema_quantile"},
  };
  for (const auto& [given, wanted] : names) EXPECT_EQ(observer_name(given), wanted) << given;
  EXPECT_CONTAINS(message_of([] { observer_name("MinMixObserver"); }), "unknown observer 'MinMixObserver'");
}

TEST(ConfigAliases, FakeQuantizersByTheNamesOfOthers) {
  const std::map<std::string, std::string> names = {
      {"FixedFakeQuantize", "fixed"},   {"Fixed", "fixed"},
      {"FakeQuantize", "fixed"},        {"FusedMovingAvgObsFakeQuantize", "fixed"},
      {"LearnableFakeQuantize", "lsq"}, {"mmrazor.LearnableFakeQuantize", "lsq"},
      {"PACTFakeQuantize", "pact"},     {"DoReFaFakeQuantize", "dorefa"},
      {"DSQFakeQuantize", "dsq"},       {"TqtFakeQuantize", "tqt"},
      {"NNIEFakeQuantize", "nnie"},     {"AdaRoundFakeQuantize", "adaround"},
      {"QDropFakeQuantize", "qdrop"},   {"lsq_plus", "lsq_plus"},
  };
  for (const auto& [given, wanted] : names) EXPECT_EQ(fake_quant_name(given), wanted) << given;
  EXPECT_CONTAINS(message_of([] { fake_quant_name("Learnble"); }), "unknown fake quantizer 'Learnble'");
}

// docs/numerics.md 6.2: torch weighs the new value with 0.01, MQBench the old one with 0.9.
TEST(ConfigAliases, TorchsMovingAveragesHaveTorchsConstant) {
  for (const char* name : {"MovingAverageMinMaxObserver", "mmrazor.MovingAveragePerChannelMinMaxObserver"})
    EXPECT_EQ(with_class_defaults(name, {}).number("averaging_constant"), 0.01) << name;
  EXPECT_EQ(
      with_class_defaults("MovingAverageMinMaxObserver", {{"averaging_constant", 0.2}}).number("averaging_constant"),
      0.2);
  EXPECT_FALSE(with_class_defaults("MovingAverageMinMaxObserver", {{"ema_ratio", 0.9}}).has("averaging_constant"));
  for (const char* name : {"EMAMinMaxObserver", "ema_min_max", "MinMaxObserver"})
    EXPECT_TRUE(with_class_defaults(name, {}).values().empty()) << name;
}

TEST(ConfigAliases, PerChannelStandsInTheClassName) {
  EXPECT_TRUE(says_per_channel("LSQPerChannelObserver"));
  EXPECT_FALSE(says_per_channel("LSQObserver"));
}

TEST(ConfigAliases, OperatorsByTorchsNames) {
  using Names = std::vector<std::string>;
  const std::map<std::string, Names> names = {
      {"torch.nn.Conv2d", {"Conv"}},
      {"torch.nn.qat.Conv3d", {"Conv"}},
      {"torch.nn.intrinsic.qat.ConvBnReLU2d", {"Conv"}},
      {"mqbench.nn.intrinsic.qat.ConvTransposeBnReLU2d", {"ConvTranspose"}},
      {"torch.nn.Linear", {"Gemm", "MatMul"}},
      {"operator.add", {"Add"}},
      {"operator.truediv", {"Div"}},
      {"torch.matmul", {"MatMul"}},
      {"torch.nn.MaxPool2d", {"MaxPool"}},
      {"torch.nn.functional.adaptive_avg_pool2d", {"GlobalAveragePool", "AveragePool", "ReduceMean"}},
      {"BatchNorm2d", {"BatchNormalization"}},
      {"torch.nn.functional.interpolate", {"Resize"}},
      {"torch.nn.ReLU6", {"Clip"}},
      {"torch.cat", {"Concat"}},
      {"mean", {"ReduceMean"}},
      {"torch.nn.Embedding", {"Gather"}},
      {"HardSwish", {"HardSwish"}},
      {"Softmax", {"Softmax"}},
  };
  for (const auto& [given, wanted] : names) EXPECT_EQ(operators_of(given), wanted) << given;
  EXPECT_CONTAINS(message_of([] { operators_of("torch.nn.MaxPol2d"); }), "did you mean 'maxpool'?");
}

TEST(ConfigAliases, ChainsOfModules) {
  using Chains = std::vector<std::vector<std::string>>;
  EXPECT_EQ(operator_chains_of("(torch.nn.ConvTranspose2d, torch.nn.BatchNorm2d, torch.nn.ReLU)", false),
            (Chains{{"ConvTranspose", "BatchNormalization", "Relu"}}));
  EXPECT_EQ(operator_chains_of("(torch.nn.ReLU, (torch.nn.BatchNorm2d, torch.nn.Conv2d))", true),
            (Chains{{"Conv", "BatchNormalization", "Relu"}}));
  EXPECT_EQ(operator_chains_of("(torch.nn.Linear, torch.nn.BatchNorm1d)", false),
            (Chains{{"Gemm", "BatchNormalization"}, {"MatMul", "BatchNormalization"}}));
  EXPECT_CONTAINS(message_of([] { operator_chains_of("torch.nn.ReLU", false); }), "is not a chain of modules");
}

}  // namespace
}  // namespace quench
