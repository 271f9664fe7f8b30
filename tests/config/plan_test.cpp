// What a config asks for arrives in the plan.
#include "config/jobs.h"
#include "quench/platform.h"

namespace quench {
namespace {

// x -> layer1.0.conv1 -> layer1.0.conv2 -> layer2.conv, weights named after their modules
Graph three_convs() {
  return parse_graph(R"(graph "three_convs" {
  input %x : float[1, 1, 2, 2]
  const %layer1.0.conv1.weight : float[1, 1, 1, 1] = {1}
  const %layer1.0.conv2.weight : float[1, 1, 1, 1] = {1}
  const %layer2.conv.weight : float[1, 1, 1, 1] = {1}
  %a = Conv "layer1.0.conv1" (%x, %layer1.0.conv1.weight) : float[1, 1, 2, 2]
  %b = Conv "layer1.0.conv2" (%a, %layer1.0.conv2.weight) : float[1, 1, 2, 2]
  %c = Conv "layer2.conv" (%b, %layer2.conv.weight) : float[1, 1, 2, 2]
  output %c
}
)");
}

std::map<std::string, std::string> weights_of(const JobConfig& job) {
  std::map<std::string, std::string> schemes;
  for (const PlanEntry& entry : make_plan(three_convs(), job.quant).entries)
    if (entry.role == Role::kWeight) schemes[entry.value] = entry.scheme.text();
  return schemes;
}

TEST(ConfigPlan, OwnRules) {
  const auto weights =
      weights_of(job_of("platform: onnxruntime\nlayers:\n"
                        "  - {match: layer1, weight: {bits: 4}}\n"
                        "  - {match: layer1.0.conv2, weight: {bits: 6, granularity: tensor}}\n"
                        "  - {match: layer2.conv, float: true}"));
  EXPECT_EQ(weights, (std::map<std::string, std::string>{{"layer1.0.conv1.weight", "int4 symmetric channel:0 narrow"},
                                                         {"layer1.0.conv2.weight", "int6 symmetric tensor narrow"}}));
}

TEST(ConfigPlan, MqbenchsDicts) {
  const auto weights =
      weights_of(job_of("extra_qconfig_dict: {w_qscheme: {bit: 4, per_channel: true}}\n"
                        "extra_quantizer_dict: {exclude_module_name: [layer1]}\n"
                        "quench: {platform: onnxruntime}"));
  EXPECT_EQ(weights, (std::map<std::string, std::string>{{"layer2.conv.weight", "int4 symmetric channel:0"}}));
}

TEST(ConfigPlan, MmrazorsMapping) {
  const auto weights = weights_of(job_of(R"(
model:
  type: mmrazor.MMArchitectureQuant
  quantizer:
    type: mmrazor.AcademicQuantizer
    qconfig_mapping:
      _global_: &six
        w_observer: {type: mmrazor.PerChannelMinMaxObserver}
        a_observer: {type: mmrazor.MovingAverageMinMaxObserver}
        w_fake_quant: {type: mmrazor.FakeQuantize}
        a_fake_quant: {type: mmrazor.FakeQuantize}
        w_qscheme: {qdtype: qint8, bit: 8, is_symmetric_range: true}
        a_qscheme: {qdtype: quint8, bit: 8, averaging_constant: 0.1}
      object_type: {torch.nn.Conv2d: {w_qscheme: {qdtype: qint8, bit: 6, is_per_channel: true}}}
      module_name: {layer2: {w_qscheme: {qdtype: qint8, bit: 2}}, layer1.0.conv1: null}
)"));
  EXPECT_EQ(weights, (std::map<std::string, std::string>{{"layer1.0.conv2.weight", "int6 symmetric channel:0"},
                                                         {"layer2.conv.weight", "int2 symmetric channel:0"}}));
}

}  // namespace
}  // namespace quench
