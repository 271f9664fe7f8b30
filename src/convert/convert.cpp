#include "quench/convert.h"

#include "convert/convert_graph.h"
#include "convert/ready.h"
#include "platforms/plan/platform_of_model.h"
#include "quench/error.h"

namespace quench {
namespace {

// The platform's rule; the simulation's own arithmetic for a model without a platform.
Arithmetic arithmetic_of(const QuantizedModel& model, const ConvertOptions& options) {
  std::string rule = options.requantize;
  if (rule.empty()) rule = model.plan.platform.empty() ? "float" : platform_of(model).requantize;
  const Arithmetic arithmetic{requantize_from_name(rule),
                              options.multiplier_bits.value_or(Arithmetic().multiplier_bits)};
  QUENCH_CHECK(!options.multiplier_bits || arithmetic.rule == Requantize::kHalfUp,
               "ConvertOptions::multiplier_bits is for the rule half_up, and the ",
               options.requantize.empty() ? "platform's " : "", "rule here is ", rule,
               ": leave it out, or set ConvertOptions::requantize to half_up");
  return arithmetic;
}

// What still holds: the entries speak of quantizers and float tensors that are no more.
QuantPlan without_entries(const QuantPlan& plan) {
  QuantPlan head;
  head.platform = plan.platform;
  head.parity = plan.parity;
  head.by = plan.by;
  return head;
}

}  // namespace

QuantizedModel convert(const QuantizedModel& model, const ConvertOptions& options, ConvertRecord* record) {
  QUENCH_CHECK(model.stage != ModelStage::kConverted, "the model is converted already");
  QUENCH_CHECK(model.stage != ModelStage::kPrepared, "the model is prepared, not calibrated: calibrate it first");
  return with_context(
      [] { return "while converting"; },
      [&] {
        ConvertedGraph made = convert_graph(ready_for_deployment(model), {.arithmetic = arithmetic_of(model, options)});
        if (record) *record = std::move(made.record);
        return QuantizedModel(std::move(made.graph), without_entries(model.plan), ModelStage::kConverted);
      });
}

}  // namespace quench
