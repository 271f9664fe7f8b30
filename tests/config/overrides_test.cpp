#include "config/jobs.h"

namespace quench {
namespace {

TEST(Overrides, SetAValueOrMakeIt) {
  const JobConfig job = job_of("defaults: {weight: {bits: 8}}",
                               {"defaults.weight.bits=4", "defaults.activation.observer=mse", "platform=TENSORRT"});
  EXPECT_EQ(job.quant.weight.bits, 4);
  EXPECT_EQ(job.quant.activation.observer, "mse");
  EXPECT_EQ(job.quant.platform, "tensorrt");
}

TEST(Overrides, HaveYamlValues) {
  const JobConfig job = job_of("{}", {"fuse=[[a, b], [c, d]]", "data.calib={kind: npz, path: 'x=y.npz'}", "seed=7"});
  EXPECT_EQ(job.quant.fuse.size(), 2u);
  EXPECT_EQ(job.data.calib->path, "x=y.npz");
  EXPECT_EQ(job.seed, 7u);
}

TEST(Overrides, ReachIntoListsAndAppend) {
  const JobConfig job =
      job_of("layers: [{match: a, weight: {bits: 8}}]", {"layers.0.weight.bits=4", "layers.1={match: b, float: true}"});
  ASSERT_EQ(job.quant.layers.size(), 2u);
  EXPECT_EQ(job.quant.layers[0].weight.bits, 4);
  EXPECT_TRUE(job.quant.layers[1].keep_float);
}

TEST(Overrides, MergeMapsAndTakeAway) {
  const JobConfig job =
      job_of("defaults: {weight: {bits: 4, narrow: true}}\nmodel: a.onnx", {"defaults.weight={bits: 6}", "model="});
  EXPECT_EQ(job.quant.weight.bits, 6);
  EXPECT_EQ(job.quant.weight.narrow, true);
  EXPECT_EQ(job.model, "");
  const JobConfig replaced =
      job_of("defaults: {weight: {bits: 4, narrow: true}}", {"defaults.weight={_delete_: true, bits: 6}"});
  EXPECT_EQ(replaced.quant.weight.narrow, std::nullopt);
}

TEST(Overrides, AreNamedInErrors) {
  EXPECT_CONTAINS(refused("{}", {"defaults.weight.bts=4"}),
                  "unknown key 'bts' of 'defaults.weight'; did you mean 'bits'?");
  EXPECT_CONTAINS(refused("{}", {"defaults.weight.bts=4"}), "in 'defaults.weight.bts=4'");
  EXPECT_CONTAINS(refused("{}", {"seed"}), "'seed' sets nothing; write a.b=value");
  EXPECT_CONTAINS(refused("{}", {"=3"}), "sets nothing");
  EXPECT_CONTAINS(refused("{}", {"a..b=3"}), "has an empty key");
  EXPECT_CONTAINS(refused("seed: 3", {"seed.a=3"}), "'a' cannot be set, because it would be inside the value '3'");
  EXPECT_CONTAINS(refused("layers: []", {"layers.1.float=true"}), "'1' is not an index into a list of 0");
  EXPECT_CONTAINS(refused("layers: []", {"layers.x.float=true"}), "'x' is not an index into a list of 0");
}

// The place was that of the first override below 'train', whichever was wrong.
TEST(Overrides, AreEachToBlameForTheirOwn) {
  for (const std::string wrong : {"train.loop=learnn", "train.optimizer.name=adan", "train.schedule.name=cosin",
                                  "train.metric=top11", "train.loop_options.alpha=1"}) {
    const std::vector<std::string> given = {"train.max_steps=3", "train.optimizer.lr=0.1", "train.schedule.end=0.1",
                                            wrong};
    EXPECT_CONTAINS(refused("version: 1", given), "in '" + wrong + "'");
    EXPECT_EQ(refused("version: 1", given).find("train.max_steps"), std::string::npos) << refused("version: 1", given);
  }
}

TEST(Overrides, OfAnotherToolsLayoutAreShownTheirPlace) {
  for (const std::string layout : {"extra_quantizer_dict: {}", "quantize: {quantize_type: naive_ptq}",
                                   "quant: {backend: academic}", "default_scope: mmrazor"}) {
    EXPECT_CONTAINS(refused(layout, {"calibration.batches=1"}),
                    "unknown key 'calibration' of this layout; did you mean 'quench.calibration.batches'?");
    EXPECT_CONTAINS(refused(layout, {"parity=true"}), "did you mean 'quench.parity'?");
    EXPECT_CONTAINS(refused(layout, {"calibratoin.batches=1"}), "unknown key 'calibratoin'; ");
  }
}

}  // namespace
}  // namespace quench
