#include "verify/integer_network.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <set>

#include "convert/convert_graph.h"
#include "convert/move_codes.h"
#include "convert/quantized.h"
#include "ops/clamp.h"
#include "quench/error.h"
#include "quench/op.h"
#include "quench/rt_value.h"

namespace quench {
namespace {

struct Step {
  std::string name;   // what the quantizer gives
  std::string codes;  // the value of its codes
  QType type;
  const Node* layer = nullptr;  // of the quantized graph; null if it quantizes an input
  bool exact = false;
  std::vector<std::string>
      sources;  // the codes (by their steps' names) and the graph's inputs that it is computed from
};

bool is_network_code(const Node& quantizer) {
  return !quantizer.input(0)->is_constant() && fake_quant_spec(quantizer).scheme.is_int() &&
         fake_quant_spec(quantizer).scheme.per_tensor();
}

bool is_passed(const Node& node) { return clamp_of(node).known || lets_quantizers_up(node); }

// What makes the quantized value; what only clamps or moves it is left out.
const Node* layer_of(const Node& quantizer) {
  const Value* value = quantizer.input(0);
  for (const Node* node = value->producer(); node; node = value->producer()) {
    const bool ends = !is_passed(*node) || is_quantizer(node->input(0)->producer()) || value->uses().size() != 1;
    if (ends) return node;
    value = node->input(0);
  }
  return nullptr;
}

}  // namespace

struct IntegerNetwork::State {
  const Graph& graph;
  ConvertedGraph converted;
  Executor executor;
  std::vector<Step> steps;
  std::vector<std::string> names;
  std::map<std::string, std::string> step_of;  // by the value of codes

  State(const Graph& of, Requantize rule)
      : graph(of), converted(convert_graph(of, {{rule}, false})), executor(converted.graph) {
    for (const Node* node : quantizers_of(graph))
      if (is_network_code(*node)) step_of[converted.codes.at(node->output().name())] = node->output().name();
    for (const Node* node : quantizers_of(graph))
      if (is_network_code(*node)) add(*node);
  }

  void add(const Node& quantizer) {
    Step step;
    step.name = quantizer.output().name();
    step.codes = converted.codes.at(step.name);
    step.type = qtype_of(quantizer);
    step.layer = layer_of(quantizer);
    const Value& codes = converted.graph.value(step.codes);
    step.exact = is_made_of_integers(codes);
    step.sources = sources_of(codes);
    names.push_back(step.name);
    steps.push_back(std::move(step));
  }

  // By integers alone: neither float32 sums nor a function in float is in it.
  bool is_made_of_integers(const Value& codes) const {
    const Node* maker = codes.producer();
    while (maker && lets_quantizers_up(*maker) && !step_of.contains(maker->input(0)->name()))
      maker = maker->input(0)->producer();
    if (!maker) return true;
    if (maker->op() == "quench.QTable") return false;
    return maker->op() != "quench.Quantize" || maker->input(0)->is_input();
  }

  std::vector<std::string> sources_of(const Value& value) const {
    std::set<std::string> found;
    std::set<const Value*> seen = {&value};
    std::vector<const Value*> open;
    const auto look = [&](const Value* one) {
      if (one->producer()) open.insert(open.end(), one->producer()->inputs().begin(), one->producer()->inputs().end());
    };
    look(&value);
    while (!open.empty()) {
      const Value* one = open.back();
      open.pop_back();
      if (!one || !seen.insert(one).second) continue;
      if (one->is_input())
        found.insert(one->name());
      else if (const auto step = step_of.find(one->name()); step != step_of.end())
        found.insert(step->second);
      else
        look(one);
    }
    return {found.begin(), found.end()};
  }

  NamedValues feeds(const std::vector<std::string>& sources, const NamedValues& inputs, const Codes& held) const {
    NamedValues fed;
    for (const std::string& name : sources) {
      const auto input = inputs.find(name);
      if (input != inputs.end())
        fed[name] = input->second;
      else
        fed[converted.codes.at(name)] = RtValue(held.at(name));
    }
    return fed;
  }

  at::Tensor codes_of(const Step& step, const NamedValues& inputs, const Codes& held) {
    return executor.run(feeds(step.sources, inputs, held), {step.codes}).at(step.codes).tensor();
  }

  const Step& step(const std::string& name) const {
    const auto at = std::find_if(steps.begin(), steps.end(), [&](const Step& one) { return one.name == name; });
    QUENCH_CHECK(at != steps.end(), "no quantized activation is called '", name, "'");
    return *at;
  }
};

IntegerNetwork::IntegerNetwork(const Graph& graph, Requantize rule) : state_(std::make_unique<State>(graph, rule)) {}
IntegerNetwork::~IntegerNetwork() = default;

const std::vector<std::string>& IntegerNetwork::names() const { return state_->names; }
const QType& IntegerNetwork::type(const std::string& name) const { return state_->step(name).type; }
const Node* IntegerNetwork::layer(const std::string& name) const { return state_->step(name).layer; }
bool IntegerNetwork::is_exact(const std::string& name) const { return state_->step(name).exact; }

IntegerNetwork::Codes IntegerNetwork::run(const NamedValues& inputs) const {
  Codes made;
  for (const Step& step : state_->steps) made[step.name] = state_->codes_of(step, inputs, made);
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
    runs.whole[step.name] = same ? local : state_->codes_of(step, inputs, runs.whole);
    runs.local[step.name] = local;
  }
  return runs;
}

NamedValues IntegerNetwork::outputs(const NamedValues& inputs, const Codes& codes) const {
  NamedValues result;
  for (const Value* output : state_->graph.outputs()) {
    const std::string& name = output->name();
    const Value& value = state_->converted.graph.value(name);
    const auto fed = state_->feeds(state_->sources_of(value), inputs, codes);
    result[name] = state_->executor.run(fed, {name}).at(name);
  }
  return result;
}

}  // namespace quench
