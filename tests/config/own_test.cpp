// quench's own schema: every key of docs/reference.md.
#include "config/jobs.h"

namespace quench {
namespace {

constexpr const char* kAll = R"(
version: 1
model: resnet20.onnx
input_shape: [[1, 3, 32, 32], "1,128:int64"]
platform: Tensorrt
parity: true
float_fallback: yes
platform_options: {fuse_residual_add: true}
data:
  calib: "cifar10:data_batch_1.bin?limit=1024&norm=cifar10"
  eval: {kind: images, path: val, mean: [0.5, 0.25, 1], std: 0.5}
metrics: [top5, "mse:output=logits,to=float", {name: map, iou: [0.5, 0.75], normalized: 1}]
defaults:
  weight: {bits: 8, observer: min_max, granularity: channel, axis: 0, narrow: true, signed: true, symmetric: true}
  activation: {bits: 8, observer: mse, observer_options: {p: 2.4, on: batch}, fake_quant: dsq, fake_quant_options: {alpha: 0.3}}
  bias: {scheme: "int8 symmetric tensor pot"}
layers:
  - {match: "layer1.*", op: Conv, weight: {bits: 4, granularity: group, group: 32}}
  - match: fc
    float: true
  - {op: Add, activation: {format: e4m3fn}, output: {scheme: "uint8 affine tensor", bits: 6}}
additional_ops: [Concat]
additional_nodes: conv1
excluded_ops: [Mul, Sigmoid]
excluded_nodes: [head]
fuse: [[conv1, bn1, relu1]]
fuse_patterns: [[Conv, Clip], [Gemm, BatchNormalization, Relu]]
calibration: {batch: 16, batches: 8, samples: 100, workers: 0, on_quantized: on, skip_broken: true, statistics: stats}
method: {name: qdrop, max_count: 500, b_range: [18, 3], exclude_node_prefix: [conv1, fc]}
equalize: true
bias_correction: sequential
seed: 1005
device: cuda
output: out
train: {epochs: 3, optimizer: {lr: 1e-4}}
deploy: {name: net, folder: files, opset: 17, options: {deploy_to_qlinear: true}}
)";

TEST(OwnSchema, ReadsTheJob) {
  const JobConfig job = job_of(kAll);
  EXPECT_EQ(job.model, "resnet20.onnx");
  EXPECT_EQ(job.input_shapes, (std::vector<std::string>{"1,3,32,32", "1,128:int64"}));
  EXPECT_EQ(job_of("input_shape: 2,4").input_shapes, std::vector<std::string>{"2,4"});
  EXPECT_EQ(job_of("input_shape: [1, 3, 8, 8]").input_shapes, std::vector<std::string>{"1,3,8,8"});
  EXPECT_EQ(job.data.calib, parse_spec("cifar10:data_batch_1.bin?limit=1024&norm=cifar10"));
  EXPECT_EQ(job.data.eval, parse_spec("images:val?mean=0.5,0.25,1&std=0.5"));
  EXPECT_EQ(job.metrics,
            (std::vector<std::string>{"top5", "mse:output=logits,to=float", "map:iou=0.5,0.75,normalized=1"}));
  EXPECT_EQ(job.calibration.batch, 16);
  EXPECT_EQ(job.calibration.batches, 8);
  EXPECT_EQ(job.calibration_samples, 100);
  EXPECT_EQ(job.calibration.workers, 0);
  EXPECT_TRUE(job.calibration.on_quantized && job.calibration.skip_broken);
  EXPECT_EQ(job.calibration.statistics, "stats");
  EXPECT_EQ(job.calibration.device, "cuda");
  EXPECT_EQ(job.equalize, true);
  EXPECT_EQ(job.bias_correction, BiasCorrection::kSequential);
  EXPECT_EQ(job.seed, 1005u);
  EXPECT_EQ(job.output, "out");
  EXPECT_EQ(job.deploy.name + " " + job.deploy.folder, "net files");
  EXPECT_EQ(job.deploy.opset, 17);
  EXPECT_EQ(job.deploy.exporter.number("deploy_to_qlinear"), 1);
}

TEST(OwnSchema, ReadsWhatThePlatformIsAskedFor) {
  const QuantConfig quant = job_of(kAll).quant;
  EXPECT_EQ(quant.platform, "tensorrt");
  EXPECT_TRUE(quant.parity && quant.float_fallback);
  EXPECT_EQ(quant.platform_options.number("fuse_residual_add"), 1);
  EXPECT_EQ(quant.additional_ops, std::vector<std::string>{"Concat"});
  EXPECT_EQ(quant.additional_nodes, std::vector<std::string>{"conv1"});
  EXPECT_EQ(quant.excluded_ops, (std::vector<std::string>{"Mul", "Sigmoid"}));
  EXPECT_EQ(quant.excluded_nodes, std::vector<std::string>{"head"});
  EXPECT_EQ(quant.fuse, (std::vector<std::vector<std::string>>{{"conv1", "bn1", "relu1"}}));
  ASSERT_EQ(quant.fuse_patterns.size(), 2u);
  EXPECT_EQ(quant.fuse_patterns[1], (std::vector<std::string>{"Gemm", "BatchNormalization", "Relu"}));
}

TEST(OwnSchema, ReadsSchemesObserversAndFakeQuantizers) {
  const QuantConfig quant = job_of(kAll).quant;
  EXPECT_EQ(quant.weight.bits, 8);
  EXPECT_EQ(quant.weight.granularity, Granularity::kChannel);
  EXPECT_EQ(quant.weight.axis, 0);
  EXPECT_EQ(quant.weight.narrow, true);
  EXPECT_EQ(quant.weight.power_of_two_scale, std::nullopt);
  EXPECT_EQ(quant.activation.observer, "mse");
  EXPECT_EQ(quant.activation.observer_options.number("p"), 2.4);
  EXPECT_EQ(quant.activation.observer_options.word("on"), "batch");
  EXPECT_EQ(quant.activation.fake_quant, "dsq");
  EXPECT_EQ(quant.activation.fake_quant_options.number("alpha"), 0.3);
  EXPECT_EQ(quant.bias.power_of_two_scale, true);
  EXPECT_EQ(quant.bias.granularity, Granularity::kTensor);
}

TEST(OwnSchema, ReadsTheRulesInOrder) {
  const std::vector<LayerRule> rules = job_of(kAll).quant.layers;
  ASSERT_EQ(rules.size(), 3u);
  EXPECT_EQ(rules[0].text(), "{match: layer1.*, op: Conv}");
  EXPECT_EQ(rules[0].weight.group, 32);
  EXPECT_FALSE(rules[0].keep_float);
  EXPECT_TRUE(rules[1].keep_float);
  EXPECT_EQ(rules[2].activation.format, Format::kE4M3Fn);
  EXPECT_EQ(rules[2].output.bits, 6);  // over that of the scheme
  EXPECT_EQ(rules[2].output.is_signed, false);
}

TEST(OwnSchema, ReadsAMethodWithItsDefaults) {
  const MethodConfig method = job_of(kAll).method;
  EXPECT_EQ(method.name, "qdrop");
  EXPECT_EQ(method.options.number("max_count"), 500);
  EXPECT_EQ(method.options.number("prob"), 0.5);
  EXPECT_EQ(method.options.word("pattern"), "block");
  EXPECT_EQ(method.options.word("b_range"), "18,3");
  EXPECT_EQ(method.options.word("exclude_node_prefix"), "conv1,fc");
  EXPECT_EQ(job_of("method: {name: adaround}").method.options.word("pattern"), "layer");
}

TEST(OwnSchema, AMethodsValuesAreChecked) {
  EXPECT_CONTAINS(refused("method: {name: brecq, pattern: blocks}"), "did you mean 'block'?");
  EXPECT_CONTAINS(refused("method: {name: brecq, round_mode: nearest}"), "'round_mode'");
  EXPECT_CONTAINS(refused("method: {name: brecq, cache: gpu}"),
                  "unknown value 'gpu' of the option 'cache'; known: device, host, disk");
  for (const char* range : {"[20]", "[20, 2, 1]", "wide", "[20, low]"})
    EXPECT_CONTAINS(refused(concat("method: {name: brecq, b_range: ", range, "}")),
                    "must be two numbers, such as 20,2, not");
  EXPECT_CONTAINS(refused("method: {name: brecq, b_range: 20}"), "must be two numbers, such as 20,2, not a number");
  const MethodConfig method = job_of("method: {name: brecq, cache: disk, b_range: null, pattern: }").method;
  EXPECT_EQ(method.options.word("cache"), "disk");
  EXPECT_EQ(method.options.word("b_range"), "20,2");
  EXPECT_EQ(method.options.word("pattern"), "block");
}

TEST(OwnSchema, IsTheSameWhenWrittenAndReadAgain) {
  expect_same_again(job_of(kAll));
  expect_same_again(job_of("version: 1"));
}

TEST(OwnSchema, ReadsJson) {
  const JobConfig job = job_of(R"({"version": 1, "platform": "tensorrt", "data": {"calib": "npz:a.npz"},
    "defaults": {"weight": {"bits": 4, "narrow": false}}, "method": null})");
  EXPECT_EQ(job.quant.weight.bits, 4);
  EXPECT_EQ(job.quant.weight.narrow, false);
  EXPECT_EQ(job.method.name, "");
}

TEST(OwnSchema, TakesTheClassNamesOfOthers) {
  const JobConfig job = job_of("defaults: {weight: {observer: MSEObserver, fake_quant: LearnableFakeQuantize}}");
  EXPECT_EQ(job.quant.weight.observer, "mse");
  EXPECT_EQ(job.quant.weight.fake_quant, "lsq");
}

TEST(OwnSchema, ReadsJsonWithTabs) { EXPECT_EQ(job_of("{\n\t\"seed\": 3,\n\t\"model\": \"a\"\n}").seed, 3u); }

TEST(OwnSchema, ListsMayBeOneText) {
  EXPECT_EQ(job_of("excluded_ops: Add, Mul").quant.excluded_ops, (std::vector<std::string>{"Add", "Mul"}));
  EXPECT_EQ(job_of("excluded_nodes: 'a,b'").quant.excluded_nodes, std::vector<std::string>{"a,b"});
}

TEST(OwnSchema, ReadsMergeKeys) {
  const QuantConfig quant =
      job_of("defaults: {weight: &w {bits: 4, narrow: true}, activation: {<<: *w, bits: 6}}").quant;
  EXPECT_EQ(quant.activation.bits, 6);
  EXPECT_EQ(quant.activation.narrow, true);
}

TEST(OwnSchema, ReadsAnchorsAndAliases) {
  const JobConfig job = job_of("defaults: {weight: &w {bits: 4}, activation: *w}");
  EXPECT_EQ(job.quant.activation.bits, 4);
}

// Axis 0 of a MatMul's weight are its input channels.
TEST(OwnSchema, ASchemeWithoutAnAxisLeavesItToTheOperator) {
  const auto axis = [](const std::string& scheme) {
    return job_of("platform: onnxruntime\ndefaults: {weight: {scheme: '" + scheme + "'}}").quant.weight.axis;
  };
  EXPECT_FALSE(axis("int8 symmetric channel").has_value());
  EXPECT_FALSE(axis("int8 symmetric tensor").has_value());
  EXPECT_EQ(axis("int8 symmetric channel:0"), 0);
  EXPECT_EQ(axis("int4 symmetric group:1:32"), 1);
}

TEST(OwnSchema, RefusesMetricsThatDoNotExist) {
  EXPECT_CONTAINS(refused("metrics: [top6]"), "unknown metric 'top6'; did you mean");
  EXPECT_CONTAINS(refused("metrics: [top6]"), "at line 1 of job.yaml");
  EXPECT_CONTAINS(refused("metrics: [{name: topk, n: 3}]"), "unknown option 'n' of metric 'topk'");
  EXPECT_CONTAINS(refused("metrics: [{k: 3}]"), "is missing ('quench list metrics')");
  EXPECT_CONTAINS(refused("metrics: top5"), "'metrics' must be a list of metrics, such as [top5, mse:output=logits]");
  EXPECT_CONTAINS(refused("metrics: [[top5]]"), "'metrics' must hold specs such as mse:output=logits");
}

}  // namespace
}  // namespace quench
