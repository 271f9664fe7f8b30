// The `quant` layout of MQBench's NLP and ViT examples, docs/config.md 3.
#include "config/jobs.h"

namespace quench {
namespace {

constexpr const char* kNlp = R"(
quant:
    a_qconfig: {quantizer: FixedFakeQuantize, observer: EMAQuantileObserver, bit: 8, symmetric: False, per_channel: False}
    w_qconfig: {quantizer: LearnableFakeQuantize, observer: MSEObserver, bit: 6, symmetric: True, ch_axis: 0}
    calibrate: 64
    pot_scale: False
    backend: tensorrt
data: {task_name: mrpc, max_seq_length: 128}
model: {model_name_or_path: bert-base}
train: {seed: 42, output_dir: out, learning_rate: 1.0e-5}
progress: {log_level: passive}
quench: {model: bert.onnx, data: {calib: "npz:mrpc.npz"}, excluded_nodes: [pooler]}
)";

TEST(MqbenchNlp, ReadsTheNlpExample) {
  const JobConfig job = job_of(kNlp);
  EXPECT_EQ(job.quant.platform, "tensorrt_nlp");
  EXPECT_EQ(job.quant.activation.observer, "ema_quantile");
  EXPECT_EQ(job.quant.activation.fake_quant, "fixed");
  EXPECT_EQ(job.quant.activation.is_signed, false);
  EXPECT_EQ(job.quant.activation.granularity, Granularity::kTensor);
  EXPECT_EQ(job.quant.weight.bits, 6);
  EXPECT_EQ(job.quant.weight.granularity, Granularity::kChannel);
  EXPECT_EQ(job.quant.weight.observer_options.word("on"), "batch");
  EXPECT_EQ(job.calibration_samples, 64);
  EXPECT_EQ(job.seed, 42u);
  EXPECT_EQ(job.output, "out");
  expect_same_again(job);
}

TEST(MqbenchNlp, TakesOurOwnKeysBesideIts) {
  const JobConfig job = job_of(kNlp);
  EXPECT_EQ(job.model, "bert.onnx");
  EXPECT_EQ(job.data.calib, parse_spec("npz:mrpc.npz"));
  EXPECT_EQ(job.quant.excluded_nodes, std::vector<std::string>{"pooler"});
  EXPECT_CONTAINS(message_of([&] { refuse_unbuilt(job, JobStage::kTrain); }), "'train.learning_rate'");
  EXPECT_CONTAINS(refused(kNlp, {"quench.sead=3"}), "unknown key 'sead' of 'quench'; did you mean 'seed'?");
}

}  // namespace
}  // namespace quench
