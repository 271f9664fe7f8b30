// Step 2, the platform: what is quantized, and how. The chip is TensorRT's relative: its lists, extended by two
// operator types and by the user's own operator with a weight.
#include "quench/platform_parts.h"

namespace {

void annotate(quench::PlanBuilder& plan) {
  quench::FamilyRule rule{quench::inputs_family_ops()};
  rule.ops.insert({"HardSwish", "Sigmoid", "example.ExampleMod"});
  quench::annotate_inputs(plan, rule);
}

std::string refuses(const quench::PlanEntry& entry, const quench::Node*) {
  return quench::beyond(
      entry, {.weights = quench::Signs::kSigned, .activations = quench::Signs::kSigned, .channel_weights = false});
}

quench::Platform example_chip() {
  quench::Platform platform = quench::find_platform("tensorrt");
  platform.aliases = {"ExampleChip"};
  platform.weight.set_scheme(quench::QScheme::parse("int8 symmetric tensor"));
  platform.activation.set_scheme(quench::QScheme::parse("int8 affine tensor"));
  for (quench::QuantSettings* settings : {&platform.weight, &platform.activation}) {
    settings->observer = "example";
    settings->observer_options = {};
    settings->fake_quant = "example";
  }
  platform.by = quench::QuantizeBy::kDivision;
  platform.weighted.emplace_back("example.ExampleMod");
  platform.has_parity = false;
  platform.whole_outputs = false;
  platform.product = "example_chip";
  platform.annotate = annotate;
  platform.refuses = refuses;
  return platform;
}

}  // namespace

QUENCH_REGISTER_PLATFORM("example_chip", example_chip, "a made-up chip: TensorRT's lists and more, ties rounded up")
