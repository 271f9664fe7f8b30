#include "config/unused_keys.h"

#include "config/jobs.h"

namespace quench {
namespace {

// Once a bug: a config with keys of training or tracing ran as plain post-training quantization without a word.
TEST(UnusedKeys, KeysThatComeWithAConfigAreNotes) {
  const std::vector<std::string> notes = unused_keys(
      job_of("model: {type: mmrazor.MMArchitectureQuant, architecture: {type: A}, input_shapes: [1, 3, 224, 224]}\n"
             "train_cfg: {type: EpochBasedTrainLoop, max_epochs: 1}\noptim_wrapper: {type: B}"));
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_EQ(notes[0],
            "'train_cfg.type', 'train_cfg.max_epochs', 'optim_wrapper': training keys that have no effect "
            "here");
  EXPECT_CONTAINS(notes[1], "'model.architecture', 'model.input_shapes': keys for tracing a Python model");
  EXPECT_CONTAINS(unused_keys(job_of("extra_qconfig_dict: {}\nconcrete_args: {a: 1}")).at(0), "'concrete_args'");
  EXPECT_TRUE(unused_keys(job_of("platform: tensorrt")).empty());
}

}  // namespace
}  // namespace quench
