#include "verify/integer_network.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <set>

#include "deploy/forms/quantized.h"
#include "ops/clamp.h"
#include "quant/accumulator.h"
#include "quench/error.h"
#include "quench/op.h"
#include "quench/rt_value.h"
#include "verify/integer_layer.h"

namespace quench {
namespace {

struct Step {
  const Node* quantizer = nullptr;
  LayerForm form;  // its node is null if the step quantizes an input of the graph
  bool integer = false;
  at::Tensor bias;                   // int32, or undefined
  std::vector<std::string> sources;  // the codes and the graph's inputs that it is computed from
  const std::string& name() const { return quantizer->output().name(); }
};

bool has_codes(const Node& quantizer) {
  const QScheme scheme = fake_quant_spec(quantizer).scheme;
  return scheme.is_int() && scheme.granularity() != Granularity::kGroup;
}

void absorb(const Clamp& clamp, Clip& clip) {
  clip.min = std::max(clip.min, static_cast<float>(clamp.low));
  clip.max = std::min(clip.max, static_cast<float>(clamp.high));
}

}  // namespace

struct IntegerNetwork::State {
  const Graph& graph;
  Requantize rule;
  Executor executor;
  std::vector<Step> steps;
  std::vector<std::string> names;
  std::map<std::string, QType> types;  // of activations and weights
  Codes weights;

  State(const Graph& of, Requantize by) : graph(of), rule(by), executor(of) {
    for (const auto& node : graph.nodes())
      if (is_quantizer(node.get()) && has_codes(*node)) add(*node);
  }

  void add(const Node& quantizer) {
    const std::string& name = quantizer.output().name();
    const Value& value = *quantizer.input(0);
    types[name] = qtype_of(quantizer);
    if (value.is_constant()) {
      weights[name] = quantize_reference(value.tensor(), types[name], fake_quant_spec(quantizer).by);
      return;
    }
    if (!types[name].scheme.per_tensor()) return void(types.erase(name));  // no runtime computes such on codes
    Step step;
    step.quantizer = &quantizer;
    step.form = form_of(quantizer);
    step.integer = step.form.node && has_integer_form(step.form);
    if (step.integer) step.bias = int32_bias(*step.form.node);
    step.sources = sources_of(value);
    names.push_back(name);
    steps.push_back(std::move(step));
  }

  // Clamps between a layer and its quantizer are part of the layer: saturation computes them.
  LayerForm form_of(const Node& quantizer) const {
    LayerForm form;
    form.y = &types.at(quantizer.output().name());
    form.rule = rule;
    const Value* value = quantizer.input(0);
    for (const Node* node = value->producer(); node; node = value->producer()) {
      const Clamp clamp = clamp_of(*node);
      if (!clamp.known || types.contains(node->input(0)->name()) || value->uses().size() != 1) break;
      absorb(clamp, form.clip);
      value = node->input(0);
    }
    form.node = value->producer();
    if (!form.node) return form;
    const int bias = entry_of(*form.node).traits.bias_slot;
    form.float_bias = bias >= 0 && form.node->input(bias) && !is_bias_quantizer(form.node->input(bias)->producer());
    // What else reads the result in float keeps the runtime from an integer kernel.
    const bool shared = value->uses().size() > 1 || value->is_graph_output();
    for (const Value* input : form.node->inputs()) {
      const auto found = input ? types.find(input->name()) : types.end();
      form.in.push_back(found == types.end() || shared ? nullptr : &found->second);
    }
    return form;
  }

  at::Tensor int32_bias(const Node& layer) const {
    const int slot = entry_of(layer).traits.bias_slot;
    const Value* bias = slot >= 0 ? layer.input(slot) : nullptr;
    return bias ? bias_codes(*bias->producer()) : at::Tensor();
  }

  std::vector<std::string> sources_of(const Value& value) const {
    std::set<std::string> found;
    std::set<const Value*> seen;
    std::vector<const Value*> open = {&value};
    while (!open.empty()) {
      const Value* one = open.back();
      open.pop_back();
      if (!one || !seen.insert(one).second) continue;
      if (one->is_input() || (types.contains(one->name()) && !weights.contains(one->name()))) {
        found.insert(one->name());
      } else if (one->producer()) {
        open.insert(open.end(), one->producer()->inputs().begin(), one->producer()->inputs().end());
      }
    }
    return {found.begin(), found.end()};
  }

  NamedValues feeds(const std::vector<std::string>& sources, const NamedValues& inputs, const Codes& held) const {
    NamedValues fed;
    for (const std::string& name : sources) {
      const auto input = inputs.find(name);
      fed[name] = input != inputs.end() ? input->second : RtValue(dequantize_reference(held.at(name), types.at(name)));
    }
    return fed;
  }

  at::Tensor codes_of(const Step& step, const NamedValues& inputs, const Codes& held) {
    if (step.integer) {
      std::vector<at::Tensor> codes;
      for (const Value* input : step.form.node->inputs()) {
        if (!input || !types.contains(input->name())) continue;
        const auto weight = weights.find(input->name());
        codes.push_back(weight != weights.end() ? weight->second : held.at(input->name()));
      }
      return compute_layer(step.form, codes, step.bias);
    }
    const std::string& value = step.quantizer->input(0)->name();
    const NamedValues fed = feeds(step.sources, inputs, held);
    const at::Tensor x = fed.contains(value) ? fed.at(value).tensor() : executor.run(fed, {value}).at(value).tensor();
    return quantize_reference(x, types.at(step.name()), fake_quant_spec(*step.quantizer).by);
  }

  const Step& step(const std::string& name) const {
    const auto at = std::find_if(steps.begin(), steps.end(), [&](const Step& one) { return one.name() == name; });
    QUENCH_CHECK(at != steps.end(), "no quantized activation is called '", name, "'");
    return *at;
  }
};

IntegerNetwork::IntegerNetwork(const Graph& graph, Requantize rule) : state_(std::make_unique<State>(graph, rule)) {}
IntegerNetwork::~IntegerNetwork() = default;

const std::vector<std::string>& IntegerNetwork::names() const { return state_->names; }
const QType& IntegerNetwork::type(const std::string& name) const { return state_->types.at(name); }
const Node* IntegerNetwork::layer(const std::string& name) const { return state_->step(name).form.node; }

bool IntegerNetwork::is_exact(const std::string& name) const {
  const Step& step = state_->step(name);
  return step.integer || !step.form.node || keeps_codes(step.form);
}

IntegerNetwork::Codes IntegerNetwork::run(const NamedValues& inputs) const {
  Codes made;
  for (const Step& step : state_->steps) made[step.name()] = state_->codes_of(step, inputs, made);
  return made;
}

IntegerNetwork::Runs IntegerNetwork::run_beside(const NamedValues& inputs, const Codes& given) const {
  Runs runs;
  for (const Step& step : state_->steps) {
    const at::Tensor local = state_->codes_of(step, inputs, given);
    // From equal codes follow equal codes.
    const bool same = std::all_of(step.sources.begin(), step.sources.end(), [&](const std::string& source) {
      return inputs.contains(source) || at::equal(runs.whole.at(source), given.at(source));
    });
    runs.whole[step.name()] = same ? local : state_->codes_of(step, inputs, runs.whole);
    runs.local[step.name()] = local;
  }
  return runs;
}

NamedValues IntegerNetwork::outputs(const NamedValues& inputs, const Codes& codes) const {
  NamedValues result;
  for (const Value* output : state_->graph.outputs()) {
    const std::string& name = output->name();
    if (codes.contains(name)) {
      result[name] = RtValue(dequantize_reference(codes.at(name), type(name)));
      continue;
    }
    result[name] = state_->executor.run(state_->feeds(state_->sources_of(*output), inputs, codes), {name}).at(name);
  }
  return result;
}

}  // namespace quench
