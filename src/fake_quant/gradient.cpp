#include "quench/gradient.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <memory>

namespace quench {
namespace {

template <class Rule>
struct Held : torch::CustomClassHolder {
  explicit Held(Rule given) : rule(std::move(given)) {}
  Rule rule;
};
using Holder = Held<GradientRule>;
using RulesHolder = Held<GradientRules>;

class RuleFunction : public torch::autograd::Function<RuleFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, at::TensorList list,
                            const c10::intrusive_ptr<Holder>& holder) {
    const Tensors inputs = list.vec();
    const at::Tensor y = holder->rule.forward(inputs);
    context->saved_data["rule"] = c10::IValue::make_capsule(holder);
    context->saved_data["inputs"] = static_cast<std::int64_t>(inputs.size());
    context->save_for_backward(holder->rule.save(inputs, y));
    return y;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const auto capsule = context->saved_data["rule"].toCapsule();
    const auto& rule = static_cast<const Holder&>(*capsule).rule;
    torch::autograd::variable_list result = rule.backward(gradients[0], context->get_saved_variables());
    result.resize(static_cast<std::size_t>(context->saved_data["inputs"].toInt()) + 1);  // one more for the holder
    return result;
  }
};

class RulesFunction : public torch::autograd::Function<RulesFunction> {
 public:
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context, at::TensorList list,
                                                const c10::intrusive_ptr<RulesHolder>& holder) {
    const Tensors inputs = list.vec();
    const Tensors results = holder->rule.forward(inputs);
    context->set_materialize_grads(false);
    context->saved_data["rule"] = c10::IValue::make_capsule(holder);
    context->saved_data["inputs"] = static_cast<std::int64_t>(inputs.size());
    context->save_for_backward(holder->rule.save(inputs, results));
    return results;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const auto capsule = context->saved_data["rule"].toCapsule();
    const auto& rule = static_cast<const RulesHolder&>(*capsule).rule;
    torch::autograd::variable_list result = rule.backward(gradients, context->get_saved_variables());
    const auto inputs = static_cast<std::size_t>(context->saved_data["inputs"].toInt());
    result.resize(inputs);
    result.resize(inputs + 1);  // one more for the holder, which has none
    return result;
  }
};

}  // namespace

Tensors apply_rules(const Tensors& inputs, GradientRules rules) {
  return RulesFunction::apply(at::TensorList(inputs), c10::make_intrusive<RulesHolder>(std::move(rules)));
}

at::Tensor apply_rule(const Tensors& inputs, GradientRule rule) {
  return RuleFunction::apply(at::TensorList(inputs), c10::make_intrusive<Holder>(std::move(rule)));
}

}  // namespace quench
