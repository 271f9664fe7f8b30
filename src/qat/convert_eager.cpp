// PyTorch's verbs that end in integers.
#include <ATen/ATen.h>

#include "calibrate/eager_prepare.h"
#include "ops/integer_form.h"
#include "quench/error.h"
#include "quench/qat.h"

namespace quench {

QuantizedModel convert(const QatModule& module, const ConvertOptions& options, ConvertRecord* record) {
  return convert(module.model(), options, record);
}

QuantizedModel convert(PreparedModel& model, const ConvertOptions& options, ConvertRecord* record) {
  model.finish();
  return convert(model.model(), options, record);
}

QuantizedModel quantize(const EagerModel& model, const std::function<void(PreparedModel&)>& run_fn,
                        const ConvertOptions& options) {
  PreparedModel prepared(prepare_eager(model, NormMode::kFold, /*shares_tensors=*/false), &model);
  run_fn(prepared);
  return convert(prepared, options);
}

QuantizedModel quantize_qat(const EagerModel& model, const std::function<void(QatModule&)>& run_fn,
                            const ConvertOptions& options) {
  QatModule module(prepare_eager(model, NormMode::kLive, /*shares_tensors=*/false));
  const auto given = model.module().named_parameters();
  for (auto& own : module.named_parameters())
    if (const at::Tensor* parameter = given.find(own.key())) own.value().set_requires_grad(parameter->requires_grad());
  run_fn(module);
  return convert(module, options);
}

at::Tensor ConvertedWeight::dequantize() const {
  const at::Tensor scale = at::tensor(params.scale), zero = at::tensor(params.zero_point, at::kFloat);
  std::vector<std::int64_t> shape(static_cast<std::size_t>(codes.dim()), 1);
  if (!scheme.per_tensor()) shape.at(static_cast<std::size_t>(scheme.axis())) = -1;
  return (codes.to(at::kFloat) - zero.reshape(shape)) * scale.reshape(shape);
}

ConvertedWeight weight(const QuantizedModel& converted, const std::string& layer) {
  QUENCH_CHECK(converted.stage == ModelStage::kConverted, "the model is ", name_of(converted.stage),
               ", not converted: call convert() first");
  std::vector<std::string> names;
  for (const auto& node : converted.graph.nodes()) {
    if (float_op(*node).empty()) continue;
    const IntegerForm form = integer_form(*node);
    const Value* codes = form.slots.size() > 1 ? node->input(form.slots[1]) : nullptr;
    if (!codes || !codes->is_constant()) continue;
    if (node->name() == layer) return {codes->tensor(), form.in[1].scheme, form.in[1].params};
    names.push_back(node->name());
  }
  const std::string nearest = nearest_name(layer, names);
  fail("there is no layer '", layer, "' with a weight in integers",
       nearest.empty() ? "" : concat("; did you mean '", nearest, "'?"));
}

}  // namespace quench
