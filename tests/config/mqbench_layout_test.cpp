// The YAML of MQBench's applications, docs/config.md 3.
#include "config/jobs.h"

namespace quench {
namespace {

constexpr const char* kClassification = R"(
extra_prepare_dict:
    extra_qconfig_dict:
        w_observer: MSEObserver
        a_observer: EMAMSEObserver
        w_fakequantize: AdaRoundFakeQuantize
        a_fakequantize: QDropFakeQuantize
        w_qscheme: {bit: 2, symmetry: False, per_channel: True, pot_scale: False, p: 2.4}
        a_qscheme: {bit: 4, symmetry: False, per_channel: False, pot_scale: False, p: 2.4}
quantize:
    backend: 'Tensorrt'
    quantize_type: advanced_ptq
    cali_batchsize: 12
    reconstruction:
        pattern: block
        scale_lr: 4.0e-5
        warm_up: 0.2
        weight: 0.01
        max_count: 20000
        b_range: [20,2]
        keep_gpu: True
        round_mode: learned_hard_sigmoid
        prob: 0.5
        exclude_node_prefix: [fc]
    deploy:
        output_path: ./
        model_name: r18
        deploy_to_qlinear: true
model:
    type: resnet18
    kwargs:
        num_classes: 1000
    path: resnet18.onnx
data:
    path: imagenet
    batch_size: 64
    num_workers: 4
    pin_memory: True
    input_size: 224
    test_resize: 256
process:
    seed: 1005
)";

TEST(MqbenchLayout, ReadsTheClassificationExample) {
  const JobConfig job = job_of(kClassification);
  EXPECT_EQ(job.layout, "mqbench");
  EXPECT_EQ(job.quant.platform, "tensorrt");
  EXPECT_EQ(job.quant.weight.bits, 2);
  EXPECT_EQ(job.model, "resnet18.onnx");
  EXPECT_EQ(job.data.calib, parse_spec("images:imagenet/train?crop=224&norm=imagenet&resize=256"));
  EXPECT_EQ(job.data.eval, parse_spec("images:imagenet/val?crop=224&norm=imagenet&resize=256"));
  EXPECT_EQ(job.calibration.batches, 12);  // cali_batchsize counts batches
  EXPECT_EQ(job.calibration.batch, 64);
  EXPECT_EQ(job.calibration.workers, 4);
  EXPECT_EQ(job.seed, 1005u);
  expect_same_again(job);
}

TEST(MqbenchLayout, ReadsTheReconstruction) {
  const JobConfig job = job_of(kClassification);
  EXPECT_EQ(job.method.name, "qdrop");
  EXPECT_EQ(job.method.options.number("prob"), 0.5);
  EXPECT_EQ(job.method.options.number("keep_gpu"), 1);
  EXPECT_EQ(job.method.options.word("b_range"), "20,2");
  EXPECT_EQ(job.method.name, "qdrop");
  EXPECT_EQ(job.deploy.exporter.number("deploy_to_qlinear"), 1);
  EXPECT_EQ(job_of(kClassification, {"quantize.reconstruction.prob=1.0"}).method.name, "brecq");
  EXPECT_EQ(job_of(kClassification, {"quantize.reconstruction.prob=1", "quantize.reconstruction.pattern=layer",
                                     "extra_prepare_dict.extra_qconfig_dict.a_fakequantize=FixedFakeQuantize"})
                .method.name,
            "adaround");
}

TEST(MqbenchLayout, PlainCalibrationHasNoMethod) {
  const JobConfig job = job_of(kClassification, {"quantize.quantize_type=naive_ptq"});
  EXPECT_EQ(job.method.name, "");
  EXPECT_EQ(message_of([&] { refuse_unbuilt(job, JobStage::kReconstruct); }), "(no error)");
  EXPECT_CONTAINS(refused("quantize: {quantize_type: advanced_ptq, backend: tensorrt}"),
                  "needs 'quantize.reconstruction'");
}

TEST(MqbenchLayout, OurOwnKeyMayNameThePlatform) {
  EXPECT_EQ(job_of("quantize: {quantize_type: naive_ptq}\nquench: {platform: onnxruntime}").quant.platform,
            "onnxruntime");
}

TEST(MqbenchLayout, AReconstructionsValuesAreChecked) {
  EXPECT_CONTAINS(refused(kClassification, {"quantize.reconstruction.pattern=unit"}),
                  "unknown value 'unit' of the option 'pattern'");
  EXPECT_CONTAINS(refused(kClassification, {"quantize.reconstruction.b_range=[20]"}), "must be two numbers");
  EXPECT_EQ(job_of(kClassification, {"quantize.reconstruction.prob=null"}).method.name, "brecq");
}

TEST(MqbenchLayout, WithoutABackendIsAcademic) {
  const JobConfig job = job_of("quantize: {quantize_type: naive_ptq}");
  EXPECT_EQ(job.quant.platform, "academic");
  EXPECT_EQ(job.calibration.batches, 16);
}

TEST(MqbenchLayout, UnknownKeysAreNamed) {
  EXPECT_CONTAINS(refused("quantize: {quantise_type: naive_ptq, backend: tensorrt}"), "did you mean 'quantize_type'?");
  EXPECT_CONTAINS(refused("quantize: {backend: tensort}"), "unknown platform 'tensort'");
  EXPECT_CONTAINS(refused(kClassification, {"quantize.reconstruction.max_cnt=3"}), "did you mean 'max_count'?");
  EXPECT_CONTAINS(refused(kClassification, {"data.batchsize=3"}), "did you mean 'batch_size'?");
  EXPECT_CONTAINS(refused(kClassification, {"proces.seed=3"}), "did you mean 'process'?");
}

}  // namespace
}  // namespace quench
