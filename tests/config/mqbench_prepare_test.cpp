// MQBench's prepare_custom_config_dict, docs/config.md 3.
#include "config/jobs.h"
#include "quench/op.h"

namespace quench {
namespace {

using Names = std::vector<std::string>;

constexpr const char* kAll = R"yaml(
extra_qconfig_dict:
  w_observer: MSEObserver
  a_observer: EMAMSEObserver
  w_fakequantize: AdaRoundFakeQuantize
  a_fakequantize: DSQFakeQuantize
  w_fakeq_params: {}
  a_fakeq_params: {alpha: 0.3}
  w_qscheme: {bit: 4, symmetry: True, per_channel: True, pot_scale: False, symmetric_range: True, p: 2.4}
  a_qscheme: {bit: 6, symmetry: False, per_channel: False, pot_scale: True, p: 2.4, ema_ratio: 0.8}
  a_observer_extra_args: {bins: 1024}
extra_quantizer_dict:
  additional_function_type: [operator.mul, torch.cat]
  additional_module_type: [torch.nn.AdaptiveAvgPool2d]
  additional_node_name: [layer1_0_relu]
  exclude_module_name: [backbone.layer1]
  exclude_function_type: [operator.add]
  exclude_node_name: [conv1]
  academic_mode: True
preserve_attr: {"": [forward_train, num_classes], backbone: [strides]}
concrect_args: {return_loss: False}
leaf_module: [torch.nn.LSTM]
extra_fuse_dict:
  additional_fuser_method_mapping: {"(torch.nn.Linear, torch.nn.BatchNorm1d)": fuse_linear_bn}
  additional_fusion_pattern: {"(torch.nn.ReLU, (torch.nn.BatchNorm2d, torch.nn.Conv2d))": ConvBNReLUFusion}
  additional_qat_module_mappings: {torch.nn.Conv2d: my.QatConv2d}
)yaml";

TEST(MqbenchPrepare, ReadsSchemes) {
  const JobConfig job = job_of(kAll);
  const QuantSettings &weight = job.quant.weight, &activation = job.quant.activation;
  EXPECT_EQ(job.layout, "mqbench");
  EXPECT_EQ(weight.bits, 4);
  EXPECT_EQ(weight.is_signed, true);
  EXPECT_EQ(weight.symmetric, true);
  EXPECT_EQ(weight.narrow, true);
  EXPECT_EQ(weight.power_of_two_scale, false);
  EXPECT_EQ(weight.granularity, Granularity::kChannel);
  EXPECT_EQ(weight.axis, std::nullopt);  // the platform knows where a weight's channels are
  EXPECT_EQ(activation.bits, 6);
  EXPECT_EQ(activation.is_signed, false);
  EXPECT_EQ(activation.symmetric, false);
  EXPECT_EQ(activation.narrow, false);
  EXPECT_EQ(activation.power_of_two_scale, true);
  EXPECT_EQ(activation.granularity, Granularity::kTensor);
}

TEST(MqbenchPrepare, ReadsObserversAndFakeQuantizers) {
  const JobConfig job = job_of(kAll);
  const QuantSettings &weight = job.quant.weight, &activation = job.quant.activation;
  EXPECT_EQ(weight.observer, "mse");
  EXPECT_EQ(weight.observer_options.number("p"), 2.4);
  EXPECT_EQ(weight.observer_options.word("on"), "batch");
  EXPECT_EQ(activation.observer, "ema_mse");
  EXPECT_EQ(activation.observer_options.word("on"), "batch");
  EXPECT_EQ(activation.observer_options.number("ema_ratio"), 0.8);
  EXPECT_EQ(activation.observer_options.number("bins"), 1024);
  EXPECT_EQ(weight.fake_quant, "adaround");
  EXPECT_EQ(activation.fake_quant, "dsq");
  EXPECT_EQ(activation.fake_quant_options.number("alpha"), 0.3);
}

TEST(MqbenchPrepare, ReadsWhatIsQuantizedAndFused) {
  const QuantConfig quant = job_of(kAll).quant;
  EXPECT_EQ(quant.additional_ops, (Names{"Mul", "Concat", "GlobalAveragePool", "AveragePool", "ReduceMean"}));
  EXPECT_EQ(quant.additional_nodes, Names{"layer1_0_relu"});
  EXPECT_EQ(quant.excluded_nodes, (Names{"backbone.layer1", "conv1"}));
  EXPECT_EQ(quant.excluded_ops, Names{"Add"});
  EXPECT_EQ(quant.platform_options.number("academic_mode"), 1);
  EXPECT_EQ(quant.fuse_patterns, (std::vector<Names>{{"Gemm", "BatchNormalization"},
                                                     {"MatMul", "BatchNormalization"},
                                                     {"Conv", "BatchNormalization", "Relu"}}));
}

TEST(MqbenchPrepare, KeepsWhatBelongsToTheModuleOrItsTrace) {
  const JobConfig job = job_of(kAll);
  EXPECT_EQ(job.preserve, (Names{"forward_train", "num_classes", "backbone.strides"}));
  EXPECT_EQ(job.metadata.at("leaf_module"), "torch.nn.LSTM");
  EXPECT_CONTAINS(message_of([&] { refuse_unbuilt(job, JobStage::kTrace); }), "'concrect_args' at line 21 of job.yaml");
  EXPECT_EQ(message_of([&] { refuse_unbuilt(job, JobStage::kQuantize); }), "(no error)");
  EXPECT_EQ(job.notes.size(), 2u);  // leaf_module and the QAT modules
  expect_same_again(job);
}

TEST(MqbenchPrepare, MayStandUnderItsOwnName) {
  const JobConfig job = job_of("prepare_custom_config_dict: {extra_qconfig_dict: {w_observer: ClipStd}}");
  EXPECT_EQ(job.quant.weight.observer, "clip_std");
}

TEST(MqbenchPrepare, ASchemeReplacesTheWholeOne) {
  const QuantSettings weight = job_of("extra_qconfig_dict: {w_qscheme: {bit: 8}}").quant.weight;
  EXPECT_EQ(weight.symmetric, true);
  EXPECT_EQ(weight.narrow, false);  // TensorRT's -127 .. 127 becomes -128 .. 127, as in the reference
  EXPECT_EQ(weight.granularity, Granularity::kTensor);
  EXPECT_FALSE(weight.observer);
  EXPECT_TRUE(job_of("extra_qconfig_dict: {a_observer: MinMax}").quant.weight.empty());
}

TEST(MqbenchPrepare, ChannelsOfActivationsAreNotTheBatch) {
  const JobConfig job = job_of("extra_qconfig_dict: {a_qscheme: {per_channel: true}}");
  EXPECT_EQ(job.quant.activation.axis, 1);
  ASSERT_EQ(job.notes.size(), 1u);
  EXPECT_CONTAINS(job.notes[0], "the reference uses axis 0, the batch");
}

TEST(MqbenchPrepare, FakeQuantizersHaveTheirParameters) {
  EXPECT_EQ(
      job_of("extra_qconfig_dict: {a_fakequantize: Learnable, a_fakeq_params: {use_grad_scaling: false, scale: 1}}")
          .quant.activation.fake_quant_options.number("grad_scaling"),
      0);
  const std::string pact = "extra_qconfig_dict: {a_fakequantize: PACT, a_fakeq_params: {alpha: ";
  EXPECT_EQ(message_of([&] { refuse_unbuilt(job_of(pact + "6.0}}"), JobStage::kQuantize); }), "(no error)");
  EXPECT_CONTAINS(message_of([&] { refuse_unbuilt(job_of(pact + "3.0}}"), JobStage::kQuantize); }),
                  "'extra_qconfig_dict.a_fakeq_params.alpha'");
  EXPECT_CONTAINS(refused("extra_qconfig_dict: {a_fakequantize: DSQ, a_fakeq_params: {alfa: 1}}"),
                  "did you mean 'alpha'?");
  EXPECT_CONTAINS(refused("extra_qconfig_dict: {a_fakeq_params: {alpha: 1}}"),
                  "needs 'extra_qconfig_dict.a_fakequantize'");
}

TEST(MqbenchPrepare, UnknownKeysAreNamed) {
  EXPECT_CONTAINS(refused("extra_qconfig_dict: {w_obsrver: MSE}"), "did you mean 'w_observer'?");
  EXPECT_CONTAINS(refused("extra_qconfig_dict: {w_observer: MSE, w_qscheme: {bits: 4}}"),
                  "unknown option 'bits' of observer 'mse'");
  EXPECT_CONTAINS(refused("extra_qconfig_dict: {}\nextra_quantiser_dict: {}"), "did you mean 'extra_quantizer_dict'?");
  EXPECT_CONTAINS(refused("extra_quantizer_dict: {exclude_modul_name: []}"), "did you mean 'exclude_module_name'?");
  EXPECT_CONTAINS(refused("\nextra_quantizer_dict: {additional_module_type: [nn.Foo]}"), "'nn.Foo' is neither");
  EXPECT_CONTAINS(refused("extra_fuse_dict: {additional_fuser_method_maping: {}}"), "did you mean");
}

// An operator of a user's own, as a plug-in registers it.
QUENCH_REGISTER_OP("test.ExampleMod", nullptr, nullptr, OpTraits{}, "of a test")

TEST(MqbenchPrepare, LayersOfOnesOwnAreOperators) {
  const JobConfig job = job_of(
      "leaf_module: [models.ExampleMod]\nextra_quantizer_dict: {additional_module_type: [models.ExampleMod]}\n"
      "extra_fuse_dict:\n  additional_fuser_method_mapping: {\"(models.ExampleMod, torch.nn.ReLU)\": fuse}\n"
      "  additional_qat_module_mapping: {models.ExampleMod: models.QatExampleMod}");
  EXPECT_EQ(job.quant.additional_ops, Names{"test.ExampleMod"});
  EXPECT_EQ(job.quant.fuse_patterns, (std::vector<Names>{{"test.ExampleMod", "Relu"}}));
  const std::string hook = "QUENCH_REGISTER_OP of quench/op.h";
  EXPECT_CONTAINS(refused("leaf_module: [MyHead]"), "'MyHead' is neither");
  EXPECT_CONTAINS(refused("leaf_module: [MyHead]"), "quench::Leaf (quench/torch.h)");
  EXPECT_CONTAINS(refused("leaf_module: [MyHead]"), hook);
  const std::string fuse = "extra_fuse_dict: {";
  EXPECT_CONTAINS(refused(fuse + "additional_fuser_method_mapping: {\"(MyHead, torch.nn.ReLU)\": f}}"), hook);
  EXPECT_CONTAINS(refused(fuse + "additional_fusion_pattern: {\"(torch.nn.ReLU, MyHead)\": f}}"), hook);
  EXPECT_CONTAINS(refused(fuse + "additional_qat_module_mappings: {MyHead: MyQatHead}}"), hook);
}

QUENCH_REGISTER_OP("first.Doubled", nullptr, nullptr, OpTraits{}, "of a test")
QUENCH_REGISTER_OP("second.Doubled", nullptr, nullptr, OpTraits{}, "of a test")

TEST(MqbenchPrepare, ALayerThatTwoDomainsHaveIsNotGuessed) {
  const std::string message = refused("leaf_module: [models.Doubled]");
  EXPECT_CONTAINS(message, "'models.Doubled' may be any of several operators: 'first.Doubled', 'second.Doubled'");
  EXPECT_CONTAINS(message, "write the one that is meant");
  const JobConfig job = job_of("extra_quantizer_dict: {additional_module_type: [second.Doubled]}");
  EXPECT_EQ(job.quant.additional_ops, Names{"second.Doubled"});
}

}  // namespace
}  // namespace quench
