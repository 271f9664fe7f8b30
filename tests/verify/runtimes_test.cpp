// The embedded model in every other runtime that a script of ours runs. Each is skipped, with the reason, if its
// package is not available.
#include <gtest/gtest.h>

#include <algorithm>

#include "verify/deployed_demo.h"
#include "verify/many_ops.h"

namespace quench {
namespace {

class Runtimes : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::string why;
    if (runtime_python(GetParam(), why).empty()) GTEST_SKIP() << why;
    const bool exact = __builtin_cpu_supports("avx512vnni") || __builtin_cpu_supports("avxvnni");
    // OpenVINO adds u8 x s8 in 16 bits there, and saturates; the others compute in float or with their own
    // instructions.
    if (GetParam() == std::string("openvino") && !exact) GTEST_SKIP() << "this processor has no VNNI";
    options.runtime = GetParam();
    options.layers = true;
  }
  static void expect_passed(const VerifyResult& result) {
    EXPECT_TRUE(result.passed()) << result.failures()[0];
    EXPECT_TRUE(result.rule != "mlas_plain" || result.whole.different == 0);
    std::cout << "  local " << result.local.different << ", end to end " << result.whole.different << " of "
              << result.local.codes << " codes\n";
  }
  VerifyOptions options;
};

TEST_P(Runtimes, KeepsItsBound) {
  const VerifyResult result = DeployedDemo().verify_on(40, options);
  expect_passed(result);
  EXPECT_EQ(result.items, 40);
  EXPECT_GE(result.equal, 39);  // of 1,000 images one was predicted differently: tests/e2e/integer_network_test.cpp
  EXPECT_GT(result.correct_deployed, 32);
}

TEST_P(Runtimes, KeepsItsBoundOnOtherOps) {
  at::manual_seed(7);
  const TensorData data(at::randn({64, 8, 12, 12}));
  expect_passed(verify(DeployedDemo(many_ops(), data, "onnxruntime").file(), data, options));
}

std::string test_name(const testing::TestParamInfo<const char*>& one) {
  std::string name = one.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Verify, Runtimes, testing::Values("onnxruntime-web", "openvino", "tract", "tvm"), test_name);

}  // namespace
}  // namespace quench
