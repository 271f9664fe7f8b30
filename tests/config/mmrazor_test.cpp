// mmrazor's layout, docs/config.md 4, as mmengine dumps it.
#include "config/jobs.h"

namespace quench {
namespace {

using Names = std::vector<std::string>;

constexpr const char* kPtq = R"(
default_scope: mmcls
val_dataloader: {batch_size: 32, num_workers: 5, dataset: {type: ImageNet}}
test_cfg:
  type: mmrazor.PTQLoop
  calibrate_dataloader: {batch_size: 32, num_workers: 5, dataset: {type: ImageNet, data_root: data/imagenet}}
  calibrate_steps: 24
global_qconfig: &qconfig
  w_observer: {type: mmrazor.PerChannelMinMaxObserver}
  a_observer: {type: mmrazor.MovingAverageMinMaxObserver}
  w_fake_quant: {type: mmrazor.FakeQuantize}
  a_fake_quant: {type: mmrazor.FakeQuantize}
  w_qscheme: {qdtype: qint8, bit: 8, is_symmetry: true, is_symmetric_range: true}
  a_qscheme: {qdtype: quint8, bit: 8, is_symmetry: true, averaging_constant: 0.1}
float_checkpoint: https://example.org/resnet18.pth
model:
  _scope_: mmrazor
  type: mmrazor.MMArchitectureQuant
  data_preprocessor:
    type: mmcls.ClsDataPreprocessor
    num_classes: 1000
    mean: [123.675, 116.28, 103.53]
    std: !!python/tuple [58.395, 57.12, 57.375]
    to_rgb: true
  architecture: {type: ImageClassifier, backbone: {type: ResNet, depth: 18}}
  float_checkpoint: https://example.org/resnet18.pth
  input_shapes: [1, 3, 224, 224]
  forward_modes: [tensor, predict, loss]
  init_cfg: null
  deploy_cfg: {backend_config: {type: openvino}}
  quantizer:
    type: mmrazor.OpenVINOQuantizer
    is_qat: true
    global_qconfig: *qconfig
    tracer:
      type: mmrazor.CustomTracer
      skipped_methods: [mmcls.models.heads.ClsHead._get_loss]
      skipped_module_names: [head]
      skipped_module_classes: [mmcls.models.ClsHead]
    no_observer_modules: [torch.nn.Softmax, mmcls.models.ClsHead]
    extra_redundant_fakequants:
      extra_module_prev_wo_fakequant: [torch.nn.ReLU6]
      extra_module_next_wo_fakequant: [torch.nn.MaxPool2d]
      extra_method_next_wo_fakequant: [flatten]
      extra_op_prev_wo_fakequant: [output]
model_wrapper_cfg: {type: mmrazor.MMArchitectureQuantDDP, broadcast_buffers: false, find_unused_parameters: true}
optim_wrapper: {optimizer: {type: SGD, lr: 0.0001, momentum: 0.9, weight_decay: 0.0001}}
param_scheduler: {type: ConstantLR, factor: 1.0, by_epoch: true}
train_cfg: {type: mmrazor.LSQEpochBasedLoop, max_epochs: 10, val_begin: 1, val_interval: 1, freeze_bn_begin: 1, disable_observer_begin: -1, dynamic_intervals: null}
val_cfg: {type: mmrazor.QATValLoop}
default_hooks: {sync: {type: SyncBuffersHook}}
randomness: {seed: 7}
work_dir: work
deploy_cfg:
  onnx_config: {type: onnx, opset_version: 11, save_file: end2end.onnx, input_names: [input], output_names: [output], input_shape: null, dynamic_axes: {input: {0: batch}}, export_params: true, keep_initializers_as_inputs: false, optimize: false}
  codebase_config: {type: mmcls, task: Classification}
  backend_config: {type: openvino, common_config: {}, model_inputs: [{opt_shapes: {input: [1, 3, 224, 224]}}]}
  function_record_to_pop: [mmcls.models.classifiers.ImageClassifier.forward, torch.Tensor.__getattribute__]
)";

// Data that the command line names has no norm of its own in such a config.
TEST(Mmrazor, ThePreprocessorNormalizesOtherDataToo) {
  JobConfig job = job_of(kPtq);
  job.data.calib = parse_spec("images:elsewhere");
  job.data.eval = parse_spec("images:elsewhere?norm=none");
  normalize_data(job);
  EXPECT_EQ(job.data.calib->options.at("mean"), job.mean);
  EXPECT_EQ(job.data.calib->options.at("std"), job.std);
  EXPECT_FALSE(job.mean.empty());
  EXPECT_FALSE(job.data.eval->options.contains("mean")) << "it has a norm";
}

TEST(Mmrazor, ReadsTheQuantizer) {
  const JobConfig job = job_of(kPtq);
  EXPECT_EQ(job.layout, "mmrazor");
  EXPECT_EQ(job.quant.platform, "mmrazor_openvino");
  EXPECT_EQ(job.quant.excluded_ops, Names{"Softmax"});
  EXPECT_EQ(job.metadata.at("no_observer_modules"), "mmcls.models.ClsHead");
  EXPECT_EQ(job.quant.platform_options.word("no_quantizer_before"), "Clip");
  EXPECT_EQ(job.quant.platform_options.word("no_quantizer_after"), "MaxPool,Flatten,Reshape");
  EXPECT_EQ(job.metadata.at("skipped_module_names"), "head");
  EXPECT_EQ(job.metadata.at("skipped_module_classes"), "mmcls.models.ClsHead");
  EXPECT_EQ(job.metadata.at("skipped_methods"), "mmcls.models.heads.ClsHead._get_loss");
}

TEST(Mmrazor, ReadsTheSixKeys) {
  const JobConfig job = job_of(kPtq);
  const QuantSettings &weight = job.quant.weight, &activation = job.quant.activation;
  EXPECT_EQ(weight.observer, "min_max");
  EXPECT_EQ(weight.granularity, Granularity::kChannel);  // PerChannel is in the class name
  EXPECT_EQ(weight.is_signed, true);
  EXPECT_EQ(weight.symmetric, true);
  EXPECT_EQ(weight.narrow, true);
  EXPECT_EQ(weight.fake_quant, "fixed");
  EXPECT_EQ(activation.observer, "ema_min_max");
  EXPECT_EQ(activation.observer_options.number("averaging_constant"), 0.1);
  EXPECT_EQ(activation.granularity, Granularity::kTensor);
  EXPECT_EQ(activation.is_signed, false);
  EXPECT_EQ(activation.symmetric, false);  // quint8 and symmetric would lose a bit
}

TEST(Mmrazor, ReadsTheLoops) {
  const JobConfig job = job_of(kPtq);
  EXPECT_EQ(job.calibration.batches, 24);
  EXPECT_EQ(job.calibration.batch, 32);
  EXPECT_EQ(job.calibration.workers, 5);
  EXPECT_FALSE(job.calibration.on_quantized);
  EXPECT_TRUE(job_of(kPtq, {"quench.parity=true"}).calibration.on_quantized);
  EXPECT_TRUE(job_of(kPtq, {"quench.calibration.on_quantized=true"}).calibration.on_quantized);
  EXPECT_EQ(job.seed, 7u);
  EXPECT_EQ(job.output, "work");
}

TEST(Mmrazor, NormalizesPicturesAsTheModelWants) {
  const JobConfig job = job_of(kPtq, {"quench.data.calib=images:calib", "quench.data.eval=images:val?norm=half"});
  EXPECT_EQ(job.data.calib, parse_spec("images:calib?mean=0.485,0.456,0.406&std=0.229,0.224,0.225"));
  EXPECT_EQ(job.data.eval, parse_spec("images:val?norm=half"));
}

// What the command line names comes later.
TEST(Mmrazor, NormalizesDataThatIsNamedLater) {
  JobConfig job = job_of(kPtq);
  job.data.train = parse_spec("cifar10:data");
  normalize_data(job);
  EXPECT_EQ(job.data.train, parse_spec("cifar10:data?mean=0.485,0.456,0.406&std=0.229,0.224,0.225"));
}

TEST(Mmrazor, KeepsTheStagesThatAreNotBuilt) {
  const JobConfig job = job_of(kPtq);
  EXPECT_EQ(message_of([&] { refuse_unbuilt(job, JobStage::kQuantize); }), "(no error)");
  EXPECT_EQ(message_of([&] { refuse_unbuilt(job, JobStage::kTrain); }), "(no error)");
  EXPECT_EQ(job.deploy.opset, 11);
  EXPECT_CONTAINS(message_of([&] { refuse_unbuilt(job, JobStage::kTrace); }), "'model.architecture'");
  expect_same_again(job);
}

TEST(Mmrazor, LearnedScales) {
  const JobConfig job = job_of(kPtq, {"model.quantizer.global_qconfig.w_observer.type=mmrazor.LSQPerChannelObserver",
                                      "model.quantizer.global_qconfig.a_observer.type=mmrazor.LSQObserver",
                                      "model.quantizer.global_qconfig.a_qscheme={_delete_: true, qdtype: qint8}",
                                      "model.quantizer.global_qconfig.w_fake_quant.type=mmrazor.LearnableFakeQuantize",
                                      "model.quantizer.global_qconfig.a_fake_quant={type: LearnableFakeQuantize, "
                                      "zero_point_trainable: true, use_grad_scaling: false, scale: 1.0}"});
  EXPECT_EQ(job.quant.weight.observer, "lsq");
  EXPECT_EQ(job.quant.weight.fake_quant, "lsq");
  EXPECT_EQ(job.quant.activation.fake_quant, "lsq_plus");
  EXPECT_EQ(job.quant.activation.fake_quant_options.number("grad_scaling"), 0);
  EXPECT_EQ(job.quant.activation.symmetric, true);
}

TEST(Mmrazor, AcademicChoosesPerLayer) {
  const std::string four = "{w_qscheme: {qdtype: qint8, bit: 4}}";
  const JobConfig job = job_of(
      "global_qconfig: &g\n"
      "  w_observer: {type: mmrazor.MinMaxObserver}\n  a_observer: {type: mmrazor.MinMaxObserver}\n"
      "  w_fake_quant: {type: mmrazor.FakeQuantize}\n  a_fake_quant: {type: mmrazor.FakeQuantize}\n"
      "  w_qscheme: {qdtype: qint8, is_per_channel: true}\n  a_qscheme: {qdtype: quint8, is_symmetry: false}\n"
      "model: {type: mmrazor.MMArchitectureQuant, quantizer: {type: mmrazor.AcademicQuantizer, qconfig_mapping: {\n"
      "  _global_: *g, module_name: {layer1.0.conv1: " +
      four + ", fc: null}, object_type: {torch.nn.Linear: " + four + "}}}}");
  EXPECT_EQ(job.quant.platform, "mmrazor_academic");
  EXPECT_EQ(job.quant.weight.granularity, Granularity::kChannel);
  const std::vector<LayerRule>& rules = job.quant.layers;
  ASSERT_EQ(rules.size(), 3u);                      // types come before names, which win
  EXPECT_EQ(rules[0].text(), "{op: Gemm|MatMul}");  // one module of torch, either operator
  EXPECT_EQ(rules[1].text(), "{match: layer1.0.conv1}");
  EXPECT_EQ(rules[1].weight.bits, 4);
  EXPECT_TRUE(rules[2].keep_float);
  expect_same_again(job);
}

TEST(Mmrazor, TopLevelQconfigServesTheQuantizer) {
  const JobConfig job = job_of(kPtq, {"model.quantizer.global_qconfig="});
  EXPECT_EQ(job.quant.weight.observer, "min_max");
}

TEST(Mmrazor, TopLevelQconfigNeedsAPlatformButNoQuantizer) {
  const JobConfig job = job_of(kPtq, {"model.quantizer=", "quench.platform=mmrazor_openvino"});
  EXPECT_EQ(job.quant.weight.granularity, Granularity::kChannel);
  EXPECT_EQ(job.quant.activation.observer, "ema_min_max");
  EXPECT_EQ(job_of(kPtq, {"model=", "quench.platform=mmrazor_openvino"}).quant.weight.narrow, true);
  EXPECT_CONTAINS(refused(kPtq, {"model.quantizer="}), "or 'quench.platform'");
  EXPECT_CONTAINS(refused(kPtq, {"model="}), "needs a 'model' with a 'quantizer'");
}

TEST(Mmrazor, ScopesMayStandInEveryMap) {
  const std::vector<std::string> scopes = {"test_cfg._scope_=mmrazor",
                                           "global_qconfig.w_qscheme._scope_=mmrazor",
                                           "model.quantizer._scope_=mmrazor",
                                           "model.quantizer.global_qconfig._scope_=mmrazor",
                                           "model.quantizer.global_qconfig.a_qscheme._scope_=mmrazor",
                                           "model.quantizer.extra_redundant_fakequants._scope_=mmrazor",
                                           "model.deploy_cfg._scope_=mmrazor",
                                           "randomness._scope_=mmengine"};
  EXPECT_EQ(to_yaml(job_of(kPtq, scopes)).find("_scope_"), std::string::npos);
  EXPECT_EQ(job_of(kPtq, scopes).quant.activation.observer_options.values().size(), 1u);
}

TEST(Mmrazor, AMovingAverageHasTorchsConstant) {
  const JobConfig job = job_of(kPtq, {"model.quantizer.global_qconfig.a_qscheme.averaging_constant="});
  EXPECT_EQ(job.quant.activation.observer_options.number("averaging_constant"), 0.01);
}

TEST(Mmrazor, MessagesNameTheKey) {
  EXPECT_CONTAINS(refused(kPtq, {"model.quantizer.global_qconfig.w_qscheme.bits=4"}),
                  "unknown option 'bits' of observer 'min_max'");
  EXPECT_CONTAINS(refused(kPtq, {"model.quantizer.global_qconfig.a_observer="}), "mmrazor requires all six keys");
  EXPECT_CONTAINS(refused(kPtq, {"model.quantizer.global_qconfig.a_fake_quant="}), "a_fake_quant' is missing");
  EXPECT_CONTAINS(refused(kPtq, {"model.quantizer.global_qconfig.a_observer={_delete_: true}"}),
                  "a_observer.type' is missing");
  EXPECT_CONTAINS(refused(kPtq, {"model.quantizer.global_qconfig.a_qscheme.qdtype=qint4"}), "must be quint8 | qint8");
  EXPECT_CONTAINS(refused(kPtq, {"model.type=mmrazor.SingleTeacherDistill"}), "must be mmrazor.MMArchitectureQuant");
  EXPECT_CONTAINS(refused(kPtq, {"model.forward_modes=[tensor, train]"}), "the modes are tensor, predict and loss");
  EXPECT_CONTAINS(refused(kPtq, {"train_cfg.max_epoch=3"}), "did you mean 'max_epochs'?");
  EXPECT_CONTAINS(refused(kPtq, {"model.quantiser.type=x"}), "did you mean 'quantizer'?");
  EXPECT_CONTAINS(refused(kPtq, {"model.quantizer.tracer.skipped_method=[x]"}), "did you mean 'skipped_methods'?");
  EXPECT_CONTAINS(refused(kPtq, {"optim_wraper={}"}), "did you mean 'optim_wrapper'?");
}

TEST(Mmrazor, ChannelOrderIsRefusedWhenQuantizing) {
  const JobConfig job = job_of(kPtq, {"model.data_preprocessor.to_rgb=false"});
  EXPECT_CONTAINS(message_of([&] { refuse_unbuilt(job, JobStage::kQuantize); }), "'model.data_preprocessor.to_rgb'");
}

}  // namespace
}  // namespace quench
