#include "quantize/same_job.h"

#include <gtest/gtest.h>

#include "quench/config.h"

namespace quench {
namespace {

// What may differ between two machines, or two GPUs of one, is no other job.
TEST(SameJob, LeavesOutWhereThingsLie) {
  JobConfig here, there;
  here.calibration.device = "cuda:0";
  there.calibration.device = "cuda:1";
  here.model = "/a/model.onnx";
  there.output = "/b/out";
  there.plugins = {"/b/mine.so"};
  there.metadata["float_checkpoint"] = "/b/weights.pth";
  there.kept.push_back({JobStage::kTrain, "hooks", "1", "at line 3 of /b/job.yaml"});
  there.notes = {"'x' of /b/job.yaml is read as 'y'"};
  EXPECT_EQ(text_of_job(here), text_of_job(there));
}

TEST(SameJob, HasWhatDecidesTheResult) {
  JobConfig job;
  job.seed = 7;
  job.quant.platform = "onnxruntime";
  job.calibration.device = "cuda:1";
  const std::string text = text_of_job(job);
  for (const char* line : {"seed: 7", "platform: \"onnxruntime\"", "device: cuda\n"})
    EXPECT_NE(text.find(line), std::string::npos) << text;
}

}  // namespace
}  // namespace quench
