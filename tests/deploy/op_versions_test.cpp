#include "deploy/onnx/op_versions.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "deploy/onnx_checker.h"
#include "quench/op.h"

namespace quench {
namespace {

TEST(OpVersions, KnowsEveryVersion) {
  const auto* clip = versions_of("Clip");
  ASSERT_TRUE(clip);
  EXPECT_EQ(version_at(*clip, 13)->max_inputs, 3);
  EXPECT_EQ(version_at(*clip, 10)->since, 6);
  EXPECT_TRUE(version_at(*clip, 10)->attributes.contains("min"));
  EXPECT_TRUE(version_at(*clip, 13)->takes_input(0, DType::kBfloat16));
  EXPECT_FALSE(version_at(*clip, 12)->takes_input(0, DType::kBfloat16));
  EXPECT_EQ(version_at(*versions_of("Gelu"), 19), nullptr);
  EXPECT_EQ(version_at(*versions_of("Upsample"), 10), nullptr);
  EXPECT_EQ(versions_of("quench.FakeQuant"), nullptr);
}

// Ours are those of ONNX: a misspelt operator could never be exported.
TEST(OpVersions, KnowsEveryOperatorOfTheRegistry) {
  for (const std::string& op : OpRegistry::instance().names()) {
    const bool is_onnx = op.find('.') == std::string::npos;
    EXPECT_TRUE(!is_onnx || versions_of(op)) << op;
  }
}

TEST(OpVersions, AreThoseOfTheOnnxPackage) {
  std::string why;
  const std::string python = test_python(why);
  if (python.empty()) GTEST_SKIP() << why;
  const std::string script =
      (std::filesystem::path(std::getenv("QUENCH_TEST_DATA")) / "../../tools/make-op-versions").string();
  ASSERT_TRUE(std::filesystem::exists(script));
  const int status = std::system((python + " " + script + " --check").c_str());
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  EXPECT_EQ(code, 0) << "run tools/make-op-versions and look at what changed";
}

}  // namespace
}  // namespace quench
