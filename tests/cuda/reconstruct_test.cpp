// Reconstruction on a GPU: steps that are captured and replayed learn what plain ones learn.
#include "quench/reconstruct.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "reconstruct/nets.h"

namespace quench {
namespace {

ReconstructionRecord learned(QuantizedModel& model, const Dataset& data, const std::string& method, double capture) {
  ReconstructOptions options;
  options.method = method;
  options.device = "cuda";
  options.options = Options{{"max_count", 60.0}, {"batch", 16.0}, {"lr", 1e-2}, {"capture", capture}};
  return reconstruct(model, data, options);
}

TEST(ReconstructOnCuda, CapturedStepsLearnTheSame) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no CUDA device";
  at::globalContext().setDeterministicCuDNN(true);
  const auto data = random_images(64);
  for (const std::string method : {"adaround", "brecq", "qdrop"}) {
    const bool draws = method == "qdrop";  // counted on the device, a captured step draws other numbers
    QuantizedModel captured = calibrated_net(*data), plain = calibrated_net(*data);
    const ReconstructionRecord one = learned(captured, *data, method, 1), other = learned(plain, *data, method, 0);
    ASSERT_EQ(one.units.size(), other.units.size());
    for (std::size_t i = 0; i < one.units.size(); ++i) {
      const double error = other.units[i].error_after;
      EXPECT_NEAR(one.units[i].error_after, error, (draws ? 0.3 : 0.02) * error) << method;
      EXPECT_EQ(one.units[i].iterations, 60);
      EXPECT_EQ(one.units[i].note.find("captured"), std::string::npos) << method << " " << one.units[i].note;
    }
    if (draws) continue;
    for (const Value* constant : captured.graph.constants()) {
      const at::Tensor learnt = constant->tensor(), wanted = plain.graph.value(constant->name()).tensor();
      EXPECT_GE(at::isclose(learnt, wanted, 1e-4, 1e-6).to(at::kDouble).mean().item<double>(), 0.98)
          << method << " " << constant->name();
    }
  }
}

// What goes through the rest of the network, or through all of it, is captured as well.
TEST(ReconstructOnCuda, PredictionsAndJointStepsAreCaptured) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no CUDA device";
  const auto data = random_images(64);
  for (const double bf16 : {0.0, 1.0}) {
    ReconstructOptions options;
    options.method = "brecq";
    options.device = "cuda";
    options.options = Options{{"max_count", 60.0},
                              {"batch", 16.0},
                              {"lr", 1e-2},
                              {"prediction", 1.0},
                              {"joint_count", 60.0},
                              {"bf16", bf16},
                              {"bias_lr", 1e-3},
                              {"joint_lr", 1e-2},
                              {"weight_scale_lr", 1e-3},
                              {"joint_augment", "flip,crop,cut,mix"}};
    QuantizedModel model = calibrated_net(*data);
    const ReconstructionRecord record = reconstruct(model, *data, options);
    ASSERT_EQ(record.units.size(), 5U);
    for (const UnitRecord& unit : record.units) {
      EXPECT_EQ(unit.note.find("captured"), std::string::npos) << unit.name << ": " << unit.note;
      EXPECT_EQ(unit.iterations, 60);
      // Together they lower the sum of all units' errors and the divergence: that of the output alone may grow a bit.
      const double most = unit.name == "network" ? 1.5 : 1.0;
      if (unit.name == "stem.conv") continue;
      EXPECT_LT(unit.error_after, most * unit.error_before) << unit.name;
    }
  }
}

}  // namespace
}  // namespace quench
