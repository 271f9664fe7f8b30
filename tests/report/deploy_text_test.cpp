#include "report/deploy_text.h"

#include <gtest/gtest.h>

namespace quench {
namespace {

DeployFile file(const char* name, FileUse use) {
  DeployFile one;
  one.name = name;
  one.what = "what it is";
  one.text = "text";
  one.use = use;
  return one;
}

std::string ship_line(std::vector<DeployFile> files) {
  Deployment deployment;
  deployment.files = std::move(files);
  const std::string text = deployment_text(deployment, "/no/such/folder");
  return text.substr(text.find("to ship"));
}

TEST(DeployText, SaysWhatToShip) {
  const DeployFile reference = file("n_quantizers.onnx", FileUse::kReference), qdq = file("n_qdq.onnx", FileUse::kShip);
  EXPECT_EQ(ship_line({reference, qdq}), "to ship     n_qdq.onnx\n");
  EXPECT_EQ(ship_line({reference, qdq, file("n.table", FileUse::kShip)}), "to ship     n_qdq.onnx and n.table\n");
  EXPECT_EQ(ship_line({reference, file("n_qop.onnx", FileUse::kInstead), qdq}),
            "to ship     n_qdq.onnx (or n_qop.onnx)\n");
  EXPECT_EQ(ship_line({reference}), "to ship     nothing\n");
}

TEST(DeployText, BeginsWithWhatIsToShip) {
  Deployment deployment;
  deployment.files = {file("n_quantizers.onnx", FileUse::kReference), file("n_qdq.onnx", FileUse::kShip)};
  const std::string text = deployment_text(deployment, "/no/such/folder");
  EXPECT_EQ(text.find("written     /no/such/folder/n_qdq.onnx"), 0U) << text;
  EXPECT_LT(text.find("n_qdq.onnx"), text.find("n_quantizers.onnx"));
  EXPECT_EQ(json_of(deployment, "/no/such/folder")["files"][0]["use"], "reference");
}

}  // namespace
}  // namespace quench
