
#include <algorithm>

#include "platforms/plan/fixed_range.h"
#include "quench/error.h"
#include "quench/op.h"
#include "quench/platform_parts.h"

namespace quench {
namespace {

// Modules that torch has an integer counterpart for, with an output scale of their own. Embedding is not among
// them: its tables need float zero points, which nothing here runs.
const std::set<std::string>& known_ops() {
  static const std::set<std::string> ops = [] {
    std::set<std::string> all = {"Conv",
                                 "ConvTranspose",
                                 "Gemm",
                                 "BatchNormalization",
                                 "Add",
                                 "Mul",
                                 "Concat",
                                 "Elu",
                                 "HardSwish",
                                 "LeakyRelu",
                                 "PRelu",
                                 "Clip",
                                 "LayerNormalization",
                                 "InstanceNormalization",
                                 "GroupNormalization"};
    all.insert(fixed_range_ops().begin(), fixed_range_ops().end());
    return all;
  }();
  return ops;
}

// These work on codes and keep the scale, but write values that lie between two codes: they round.
bool averages(const Layer& layer) {
  static const std::set<std::string> ops = {"AveragePool", "GlobalAveragePool", "ReduceMean", "Resize", "Upsample"};
  return ops.contains(layer.op());
}

bool keeps_scale(const PlanBuilder& plan, const Layer& layer) {
  if (averages(layer) || entry_of(layer.head()).traits.range == RangeRule::kPasses) return true;
  // FloatFunctional's add_scalar and mul_scalar change scale and zero point, never a code.
  const bool scalar = (layer.op() == "Add" || layer.op() == "Mul") && plan.activations_of(layer).size() == 1;
  return plan.parity() && scalar;
}

class EagerRules {
 public:
  explicit EagerRules(PlanBuilder& plan) : plan_(plan) {}

  void visit(const Layer& layer) {
    if (layer.op() == "quench.QuantStub")
      write(layer, "QuantStub");
    else if (layer.op() == "quench.DeQuantStub")
      plan_.leave_float(layer.output(), "behind a DeQuantStub");
    else if (is_known(layer))
      quantize(layer);
    else if (keeps_scale(plan_, layer))
      pass_on(layer);
  }

 private:
  bool is_known(const Layer& layer) const {
    const bool is_linear = layer.op() == "MatMul" && plan_.has_weight(layer);
    return (is_linear || plan_.is_listed(layer, known_ops())) && !plan_.activations_of(layer).empty();
  }

  static std::string named(const char* what, const Layer& layer) {
    return concat(what, " of ", layer.op(), " '", layer.head().name(), "'");
  }

  void write(const Layer& layer, const std::string& rule) {
    plan_.quantize_output(layer, layer.output(), rule);
    if (!plan_.is_excluded(layer)) quantized_.insert(&layer.output());
  }

  void quantize(const Layer& layer) {
    if (!plan_.is_excluded(layer)) {
      for (const Value* value : plan_.activations_of(layer))
        if (!quantized_.contains(value))  // from the graph's input or a float island
          plan_.quantize_input(layer, *value, named("float input", layer));
    }
    if (plan_.has_weight(layer)) plan_.quantize_weight(layer, named("weight", layer));
    write(layer, named("output", layer));
  }

  void pass_on(const Layer& layer) {
    const std::vector<const Value*> inputs = plan_.activations_of(layer);
    if (plan_.is_excluded(layer) || inputs.empty()) return;
    if (!std::all_of(inputs.begin(), inputs.end(), [&](const Value* value) { return quantized_.contains(value); }))
      return;
    const std::string rule = concat(layer.op(), " '", layer.head().name(), "' keeps the scale of its input");
    for (const Value* output : layer.last().outputs()) {
      if (!output) continue;
      quantized_.insert(output);
      if (averages(layer) && !plan_.parity())
        plan_.share(*output, *scale_of(*inputs[0]), rule);
      else
        plan_.leave_float(*output, rule);
    }
  }

  // The value whose quantizer made the codes of this one.
  const Value* scale_of(const Value& value) {
    const Value* found = &value;
    while (!plan_.find(*found)) found = plan_.activations_of(*plan_.producer_of(*found))[0];
    return found;
  }

  PlanBuilder& plan_;
  std::set<const Value*> quantized_;
};

std::string refuses(const PlanEntry& entry, const Node* layer) { return refuses_eager(entry, layer, Signs::kUnsigned); }

}  // namespace

void annotate_eager(PlanBuilder& plan) {
  EagerRules rules(plan);
  for (const Layer& layer : plan.layers()) rules.visit(layer);
}

Platform eager_platform(const std::string& activation, const std::string& weight) {
  Platform platform;
  platform.weight.set_scheme(QScheme::parse(weight));
  platform.weight.fake_quant = "fixed";
  platform.activation.set_scheme(QScheme::parse(activation));
  platform.activation.observer = "histogram";
  platform.reference = observed_by("histogram", {{"resample", 1.0}});
  platform.activation.fake_quant = "fixed";
  platform.bias_correction = BiasCorrection::kFast;  // both measured: docs/results.md
  platform.equalize = platform.weight.granularity == Granularity::kTensor;
  platform.groups = standard_groups();
  // Relu6 counts as Relu, as after torchvision's _replace_relu; Add with Relu is FloatFunctional's add_relu.
  for (const char* head : {"Conv", "ConvTranspose", "Gemm", "MatMul"}) {
    platform.groups.push_back({head, "Clip"});
    platform.groups.push_back({head, "BatchNormalization", "Clip"});
  }
  platform.groups.push_back({"Add", "Relu"});
  platform.weighted = standard_weighted();
  platform.product = "torch";
  platform.annotate = annotate_eager;
  platform.refine = use_fixed_ranges;
  platform.refuses = refuses;
  return platform;
}

std::string refuses_eager(const PlanEntry& entry, const Node* layer, Signs activations) {
  if (entry.role == Role::kWeight && layer->op() == "ConvTranspose" && !entry.scheme.per_tensor())
    return "a ConvTranspose with weights per channel";
  return beyond(entry, {.weight_bits = up_to_bits(8),
                        .activation_bits = up_to_bits(8),
                        .weights = Signs::kSigned,
                        .activations = activations,
                        .group_weights = true});
}

}  // namespace quench
