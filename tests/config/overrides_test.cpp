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

}  // namespace
}  // namespace quench
