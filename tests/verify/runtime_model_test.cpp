// compare_models with a deployed file in ONNX Runtime as one side.
#include <gtest/gtest.h>

#include "quench/convert.h"
#include "support/expect_error.h"
#include "verify/wrong_runner.h"

namespace quench {
namespace {

class RuntimeModel : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    python_ = runtime_python("onnxruntime", why);
    if (python_.empty()) GTEST_SKIP() << why;
    if (!processor_adds_exactly()) GTEST_SKIP() << "this processor has no VNNI";
  }

  ModelComparison compared(const Graph& a, const std::string& runner = "") const {
    VerifyOptions options;
    options.runner = runner;
    return compare_with_runtime(a, demo_.file(), *open_dataset(demo_data(500, 20)), options);
  }
  Graph calibrated() const { return import_model(demo_.beside("demo.quench.onnx")); }
  Graph integers() const { return convert(quantized_model_of(calibrated())).graph; }
  std::string wrong(const std::string& change) const { return wrong_runner(demo_.beside("wrong.py"), python_, change); }

  DeployedDemo demo_;
  std::string python_;
};

TEST_F(RuntimeModel, GivesEveryCodeOfTheConvertedModel) {
  const ModelComparison found = compared(integers());
  EXPECT_EQ(found.items, 20);
  EXPECT_EQ(found.equal_top1, 20);
  EXPECT_GT(found.values.size(), 5U);
  EXPECT_EQ(found.largest(), 0.0);
  EXPECT_TRUE(found.only_a.empty() && found.only_b.empty());
}

TEST_F(RuntimeModel, IsNearItsSimulationAndFurtherFromFloat) {
  const double simulated = compared(calibrated()).largest(), plain = compared(import_model(demo_model())).largest();
  EXPECT_LT(simulated, plain);
  EXPECT_GT(plain, 1.0);
}

TEST_F(RuntimeModel, WrongCodesAreCounted) {
  const ModelComparison right = compared(integers());
  const ModelComparison found =
      compared(integers(), wrong("name = next(n for n, a in arrays.items() if a.dtype == numpy.uint8)\n"
                                 "arrays[name] = arrays[name].copy(); arrays[name].flat[0] ^= 4\n"));
  ASSERT_EQ(found.values.size(), right.values.size());
  std::int64_t different = 0;
  for (const ValueDifference& value : found.values) different += value.different;
  EXPECT_EQ(different, 1);
  EXPECT_NEAR(found.largest(), 4.0, 1e-4);
}

TEST_F(RuntimeModel, ATensorThatIsNotGivenIsNamed) {
  EXPECT_ERROR(compared(integers(), wrong("arrays.popitem()")), "gave no '");
}

}  // namespace
}  // namespace quench
