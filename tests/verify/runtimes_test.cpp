// The embedded model in every other runtime that a script of ours runs. Each is skipped, with the reason, where its
// package cannot be had.
#include <gtest/gtest.h>

#include <algorithm>

#include "verify/deployed_demo.h"

namespace quench {
namespace {

class Runtimes : public testing::TestWithParam<const char*> {};

TEST_P(Runtimes, KeepsItsBound) {
  const std::string runtime = GetParam();
  std::string why;
  if (runtime_python(runtime, why).empty()) GTEST_SKIP() << why;
  const bool exact = __builtin_cpu_supports("avx512vnni") || __builtin_cpu_supports("avxvnni");
  // OpenVINO adds u8 x s8 in 16 bits there, and saturates; the others compute in float or with instructions of their
  // own.
  if (runtime == "openvino" && !exact) GTEST_SKIP() << "this processor has no VNNI";
  VerifyOptions options;
  options.runtime = runtime;
  options.layers = true;
  const VerifyResult result = DeployedDemo().verify_on(40, options);
  EXPECT_TRUE(result.passed()) << result.failures[0];
  EXPECT_EQ(result.items, 40);
  EXPECT_GE(result.equal, 39);  // of 1,000 images one was predicted otherwise: tests/e2e/integer_network_test.cpp
  EXPECT_GT(result.correct_deployed, 32);
  EXPECT_TRUE(runtime != "onnxruntime-web" || result.whole.different == 0);
  std::cout << "  local " << result.local.different << ", end to end " << result.whole.different << " of "
            << result.local.codes << " codes\n";
}

std::string test_name(const testing::TestParamInfo<const char*>& one) {
  std::string name = one.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Verify, Runtimes, testing::Values("onnxruntime-web", "openvino", "tract", "tvm"), test_name);

}  // namespace
}  // namespace quench
