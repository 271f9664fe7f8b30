// What quench quantize says about data that is broken, or hardly meant.
#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "cli/demo.h"
#include "cli/program.h"
#include "quench/import.h"
#include "quench/npz.h"

namespace quench {
namespace {

namespace fs = std::filesystem;

Outcome quantized_on(const TemporaryFolder& folder, const std::string& data, const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"quantize", demo_model(),       "--platform", "onnxruntime", "--calib",    data,
                                        "-o",       folder.path("out"), "--profile",  "0",           "--no-deploy"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return quench_run(arguments);
}

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(QuantizeData, OfZerosIsWarnedOf) {
  const TemporaryFolder folder;
  const std::string input = import_model(demo_model()).inputs()[0]->name();
  write_npz(folder.path("zeros.npz"), {{input, RtValue(at::zeros({4, 1, 28, 28}))}});
  const Outcome outcome = quantized_on(folder, "npz:" + folder.path("zeros.npz"), {});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::string warning = "every number in the first 4 items of the data is 0: scales that are found on such data";
  EXPECT_SAYS(outcome.err, "WARNING: " + warning);
  EXPECT_EQ(outcome.out.find("WARNING"), std::string::npos) << outcome.out;  // once, on one stream
  EXPECT_SAYS(read_text(folder.path("out/report.txt")), "WARNING     " + warning);
  // Before the work: also where it ends in an error, and once.
  const Outcome early = quantized_on(folder, "npz:" + folder.path("zeros.npz"), {"--force", "--time"});
  ASSERT_EQ(early.code, 0) << early.err;
  EXPECT_LT(early.err.find("WARNING: " + warning), early.err.find("fuse: ")) << early.err;
  EXPECT_EQ(early.err.find("WARNING: " + warning), early.err.rfind("WARNING: " + warning)) << early.err;
}

// The error named the quantizer, but not which of thousands of items it was.
TEST(QuantizeData, ThatIsNotFiniteIsNamed) {
  const TemporaryFolder folder;
  const std::string input = import_model(demo_model()).inputs()[0]->name();
  const at::Tensor items = at::rand({40, 1, 28, 28});
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    at::Tensor broken = items.clone();
    broken[35][0][3][4] = bad;
    write_npz(folder.path("x.npz"), {{input, RtValue(broken)}});
    for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--equalize"}}) {
      const Outcome outcome = quantized_on(folder, "npz:" + folder.path("x.npz"), more);
      expect_refused(outcome, std::isnan(bad) ? "item '35' has NaN in its input '" + input + "'"
                                              : "item '35' has an infinity in its input '" + input + "'");
    }
  }
}

// A label that the model does not have is found in the list of labels, before anything is calibrated.
TEST(QuantizeData, RefusesLabelsBeyondTheClassesBeforeTheWork) {
  const TemporaryFolder folder;
  const std::string input = import_model(demo_model()).inputs()[0]->name();
  write_npz(folder.path("x.npz"),
            {{input, RtValue(at::rand({3, 1, 28, 28}))}, {"y", at::tensor({0, 10, 9}, at::kLong)}});
  const std::string data = "npz:" + folder.path("x.npz");
  const Outcome outcome = quantized_on(folder, data, {"--eval", data, "--time"});
  expect_refused(outcome, "item '1' has label 10, but the model has 10 classes");
  EXPECT_EQ(outcome.err.find("calibrate: "), std::string::npos) << outcome.err;
}

// Two class folders, one with a broken picture, for a model of ten classes.
TEST(QuantizeData, NamesWhatItSkippedAndCountsClasses) {
  const TemporaryFolder folder;
  for (const char* name : {"cats", "dogs"}) {
    fs::create_directories(folder.path(std::string("pictures/") + name));
    fs::copy_file(demo_file("../../tests/data/images/grey.png"),
                  folder.path(std::string("pictures/") + name + "/one.png"));
  }
  std::ofstream(folder.path("pictures/dogs/torn.png")) << "no picture";
  const std::string data = "images:" + folder.path("pictures") + "?norm=mnist";
  expect_refused(quantized_on(folder, data, {}), "torn.png");
  const Outcome outcome = quantized_on(folder, data, {"--skip-broken", "--eval", data});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_SAYS(outcome.out, "calibrated  on 2 images in ");
  EXPECT_SAYS(outcome.out, "skipped     ");
  EXPECT_SAYS(outcome.out, "torn.png");
  EXPECT_SAYS(outcome.err, "WARNING: the data has 2 classes, the model 10: ");
  const Outcome evaluated = quench_run({"eval", demo_model(), "--data", data, "--skip-broken"});
  EXPECT_EQ(evaluated.code, 0) << evaluated.err;
  EXPECT_SAYS(evaluated.err, "WARNING: the data has 2 classes, the model 10: ");
}

// A network without trained weights was measured and shipped without a word.
TEST(QuantizeData, OfANetworkWithRandomWeightsIsWarnedOf) {
  const TemporaryFolder folder;
  write_npz(folder.path("x.npz"), {{"input", RtValue(at::rand({4, 3, 32, 32}))}});
  const std::string warning =
      "WARNING: the weights of 'zoo:resnet20_cifar' are random; weights=FILE loads trained ones";
  const Outcome outcome =
      quench_run({"quantize", "zoo:resnet20_cifar", "--platform", "onnxruntime", "--calib",
                  "npz:" + folder.path("x.npz"), "-o", folder.path("out"), "--profile", "0", "--no-deploy"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_SAYS(outcome.err, warning);
  EXPECT_SAYS(read_text(folder.path("out/report.txt")), "the weights of 'zoo:resnet20_cifar' are random");
}

}  // namespace
}  // namespace quench
