#include "quench/executor.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <c10/core/GradMode.h>

#include <algorithm>

#include "core/hash.h"
#include "graph/border.h"
#include "graph/input_check.h"
#include "graph/schedule.h"
#include "graph/tensor_types.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

template <typename Hook>
struct Hooked {
  int number;
  int value;  // its id; -1: every value
  Hook hook;
};

at::Generator make_generator(const c10::Device& device, std::uint64_t seed) {
  at::Generator generator =
      device.is_cpu() ? at::detail::createCPUGenerator(seed) : at::globalContext().defaultGenerator(device).clone();
  generator.set_current_seed(seed);
  return generator;
}

}  // namespace

struct Executor::State {
  State(Executor& owner, const Graph& graph, ExecOptions options)
      : owner(owner), graph(graph), options(std::move(options)), program(graph), hooks_at(program.values.size()) {
    load_constants();
  }

  void load_constants();
  const Schedule& schedule_for(const std::vector<int>& feeds, const std::vector<int>& fetches);
  bool execute(std::vector<RtValue>& env, const Schedule& schedule, ExecContext& context);
  bool publish_constants(std::vector<RtValue>& env);
  Inputs gather(const Step& step, std::size_t index, std::vector<RtValue>& env);
  void unify_devices(const Step& step, Inputs& inputs);
  Next publish(int id, RtValue& result);
  RtValue place_input(const Value& input, const RtValue& value) const;

  Executor& owner;
  const Graph& graph;
  ExecOptions options;
  Program program;
  std::vector<RtValue> constants;  // by value id
  std::vector<Inputs> prepared;    // by step; empty if the op prepares nothing
  std::map<std::pair<std::vector<int>, std::vector<int>>, Schedule> schedules;
  std::map<const Graph*, std::unique_ptr<Executor>> bodies;

  int next_hook = 0;
  std::vector<int> hooks_at;  // how many hooks look at a value
  int hooks_everywhere = 0;
  std::vector<Hooked<ValueHook>> value_hooks;
  std::vector<Hooked<GradientHook>> gradient_hooks;
  std::vector<std::pair<int, std::pair<const Node*, NodeHook>>> node_hooks;
  std::map<const Node*, Observer*> observers;

  at::Generator generator;
};

class RunContext : public ExecContext {
 public:
  explicit RunContext(Executor::State& state) : state_(state), device_(state.options.device) {
    training = state.options.training;
    reconstructing = state.options.reconstructing;
    shares = state.options.shares;
  }
  const c10::Device& device() const override { return device_; }
  // One stream of random numbers over all runs, restarted when the seed changes.
  at::Generator& generator() override {
    if (!state_.generator.defined() || state_.generator.current_seed() != state_.options.seed)
      state_.generator = make_generator(device_, state_.options.seed);
    return state_.generator;
  }
  RandomKey random_key(const Node& node) const override {
    return {state_.options.seed, stable_hash(node.name()), state_.options.step, state_.options.counter};
  }
  Observer* observer(const Node& node) const override {
    const auto at = state_.observers.find(&node);
    return at == state_.observers.end() ? nullptr : at->second;
  }
  std::vector<RtValue> run_body(const Graph& body, const std::vector<RtValue>& inputs) override {
    std::unique_ptr<Executor>& executor = state_.bodies[&body];
    if (!executor) executor = std::make_unique<Executor>(body, state_.options);
    executor->options() = state_.options;
    executor->state_->generator = generator();
    return executor->run(inputs);
  }

 private:
  Executor::State& state_;
  c10::Device device_;
};

void Executor::State::load_constants() {
  constants.assign(program.values.size(), RtValue());
  for (std::size_t id = 0; id < program.values.size(); ++id) {
    const Value& value = *program.values[id];
    if (value.is_constant()) constants[id] = RtValue(value.tensor(), value.dtype());
  }
  prepared.assign(program.steps.size(), {});
}

const Schedule& Executor::State::schedule_for(const std::vector<int>& feeds, const std::vector<int>& fetches) {
  auto [at, added] = schedules.try_emplace({feeds, fetches});
  if (added) {
    try {
      at->second = make_schedule(program, feeds, fetches);
    } catch (...) {
      schedules.erase(at);
      throw;
    }
  }
  return at->second;
}

RtValue Executor::State::place_input(const Value& input, const RtValue& value) const {
  if (!value.is_tensor()) return value;
  return with_context([&] { return concat("at input '", input.name(), "'"); },
                      [&] {
                        at::Tensor tensor = value.tensor().to(c10::Device(options.device));
                        if (options.channels_last && tensor.dim() == 4 && tensor.is_floating_point())
                          tensor = tensor.contiguous(at::MemoryFormat::ChannelsLast);
                        return RtValue(tensor, value.dtype());
                      });
}

// Shapes and axes are read on the CPU; where data lies on another device, its constants follow it.
void Executor::State::unify_devices(const Step& step, Inputs& inputs) {
  c10::Device device(c10::kCPU);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].is_tensor() && !step.on_host[i] && !inputs[i].tensor().is_cpu()) device = inputs[i].tensor().device();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].is_tensor()) continue;
    const c10::Device wanted = step.on_host[i] ? c10::Device(c10::kCPU) : device;
    if (inputs[i].tensor().device() == wanted) continue;
    const Value& value = *program.values[static_cast<std::size_t>(step.inputs[i])];
    if (const int state = step.entry->traits.state_from; state >= 0 && static_cast<int>(i) >= state) {
      at::Tensor(inputs[i].tensor()).set_data(inputs[i].tensor().detach().to(wanted));  // the graph's own tensor
      continue;
    }
    const std::vector<int>& buffers = step.entry->traits.buffer_slots;
    const bool is_buffer = std::count(buffers.begin(), buffers.end(), static_cast<int>(i)) > 0;
    QUENCH_CHECK(!(options.training && is_buffer), "'", value.name(), "' lies on ", inputs[i].tensor().device().str(),
                 " and training would write into a copy of it; move the module to ", wanted.str(), " first");
    // What trains stays where its owner keeps it: its gradient arrives there, and its changes are seen.
    const bool trains = inputs[i].tensor().requires_grad();
    inputs[i] = RtValue(inputs[i].tensor().to(wanted), inputs[i].dtype());
    if (value.is_constant() && !trains) constants[static_cast<std::size_t>(step.inputs[i])] = inputs[i];
  }
}

Inputs Executor::State::gather(const Step& step, std::size_t index, std::vector<RtValue>& env) {
  Inputs inputs(step.inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (step.inputs[i] < 0) continue;
    const auto at = static_cast<std::size_t>(step.inputs[i]);
    inputs[i] = env[at].is_none() ? constants[at] : env[at];
  }
  if (options.device != "cpu") unify_devices(step, inputs);
  if (!step.entry->prepare) return inputs;
  if (prepared[index].empty()) prepared[index] = step.entry->prepare(*step.node, inputs);
  for (std::size_t i = 0; i < prepared[index].size(); ++i) {
    const bool is_fed = step.inputs[i] >= 0 && !env[static_cast<std::size_t>(step.inputs[i])].is_none();
    if (!prepared[index][i].is_none() && !is_fed) inputs[i] = prepared[index][i];
  }
  return inputs;
}

Next Executor::State::publish(int id, RtValue& result) {
  const auto index = static_cast<std::size_t>(id);
  if (hooks_at[index] + hooks_everywhere == 0) return Next::kContinue;
  const Value& value = *program.values[index];
  Next next = Next::kContinue;
  // Copies: a hook may remove itself or add another.
  const auto values_to_call = value_hooks;
  const auto gradients_to_call = gradient_hooks;
  for (const auto& hooked : values_to_call)
    if ((hooked.value == id || hooked.value < 0) && hooked.hook(value, result) == Next::kStop) next = Next::kStop;
  for (const auto& hooked : gradients_to_call) {
    if (hooked.value != id || !options.grad) continue;
    at::Tensor tensor = result.tensor();
    // An alias of its own: an Identity gives back the very tensor that it got.
    tensor = tensor.requires_grad() ? at::alias(tensor) : tensor.detach().requires_grad_();
    tensor.register_hook([hook = hooked.hook, &value](const at::Tensor& arrived) {
      at::Tensor gradient = arrived;
      hook(value, gradient);
      return gradient;
    });
    result = RtValue(tensor, result.dtype());
  }
  return next;
}

// Constants that a hook looks at. False when one stopped the run.
bool Executor::State::publish_constants(std::vector<RtValue>& env) {
  bool go_on = true;
  for (std::size_t id = 0; id < env.size(); ++id) {
    if (hooks_at[id] == 0 || !program.values[id]->is_constant() || !env[id].is_none()) continue;
    env[id] = constants[id];
    if (publish(static_cast<int>(id), env[id]) == Next::kStop) go_on = false;
  }
  return go_on;
}

// False when a hook stopped the run.
bool Executor::State::execute(std::vector<RtValue>& env, const Schedule& schedule, ExecContext& context) {
  for (const Schedule::Item& item : schedule.items) {
    const auto index = static_cast<std::size_t>(item.step);
    const Step& step = program.steps[index];
    bool stop = false;
    with_context([&] { return concat("at ", step.node->where()); },
                 [&] {
                   std::vector<RtValue> results = owner.run_node(*step.node, gather(step, index, env), context);
                   QUENCH_CHECK(results.size() >= step.outputs.size(), "evaluation gave ", results.size(),
                                " results for ", step.outputs.size(), " outputs");
                   const auto nodes_to_call = node_hooks;
                   for (const auto& [number, hook] : nodes_to_call)
                     if (hook.first == step.node && hook.second(*step.node, results) == Next::kStop) stop = true;
                   for (std::size_t i = 0; i < step.outputs.size(); ++i) {
                     const int id = step.outputs[i];
                     if (id < 0 || !env[static_cast<std::size_t>(id)].is_none()) continue;  // fed: stays
                     if (publish(id, results[i]) == Next::kStop) stop = true;
                     env[static_cast<std::size_t>(id)] = std::move(results[i]);
                   }
                 });
    if (stop) return false;
    for (int id : item.dead_after) env[static_cast<std::size_t>(id)] = RtValue();
  }
  return true;
}

Executor::Executor(const Graph& graph, ExecOptions options)
    : state_(std::make_unique<State>(*this, graph, std::move(options))) {}
Executor::~Executor() = default;

std::vector<RtValue> Executor::run_node(const Node& node, const std::vector<RtValue>& inputs, ExecContext& context) {
  return entry_of(node).evaluate(node, inputs, context);
}

NamedValues Executor::run(const NamedValues& feeds, const std::vector<std::string>& fetches) {
  State& state = *state_;
  std::vector<int> feed_ids, fetch_ids;
  for (const auto& [name, value] : feeds) feed_ids.push_back(state.program.id_of(state.graph.value(name)));
  for (const std::string& name : fetches) fetch_ids.push_back(state.program.id_of(state.graph.value(name)));
  const Schedule& schedule = state.schedule_for(feed_ids, fetch_ids);

  const c10::AutoGradMode grad_mode(state.options.grad);
  RunContext context(state);
  std::vector<RtValue> env(state.program.values.size());
  bool stopped = false;
  std::size_t fed = 0;
  for (const auto& [name, value] : feeds) {
    const auto id = static_cast<std::size_t>(feed_ids[fed++]);
    const Value& declared = *state.program.values[id];
    const RtValue given = in_type_of(declared, value);
    check_input(declared, given);
    env[id] = state.place_input(declared, given);
    stopped = state.publish(static_cast<int>(id), env[id]) == Next::kStop || stopped;
  }
  if (!state.publish_constants(env)) stopped = true;
  if (!stopped) state.execute(env, schedule, context);
  NamedValues results;
  for (std::size_t i = 0; i < fetches.size(); ++i) {
    const auto id = static_cast<std::size_t>(fetch_ids[i]);
    results[fetches[i]] = env[id].is_none() ? state.constants[id] : env[id];
  }
  return results;
}

std::vector<RtValue> Executor::run(const std::vector<RtValue>& inputs) {
  const Graph& graph = state_->graph;
  QUENCH_CHECK(inputs.size() == graph.inputs().size(), "the graph takes ", graph.inputs().size(), " inputs, ",
               inputs.size(), " were given");
  NamedValues feeds;
  for (std::size_t i = 0; i < inputs.size(); ++i) feeds[graph.inputs()[i]->name()] = inputs[i];
  std::vector<std::string> names;
  for (const Value* output : graph.outputs()) names.push_back(output->name());
  const NamedValues results = run(feeds, names);
  std::vector<RtValue> outputs;
  for (const std::string& name : names) outputs.push_back(results.at(name));
  return outputs;
}

int Executor::on_value(const std::string& value, ValueHook hook) {
  const int id = state_->program.id_of(state_->graph.value(value));
  ++state_->hooks_at[static_cast<std::size_t>(id)];
  state_->value_hooks.push_back({state_->next_hook, id, std::move(hook)});
  return state_->next_hook++;
}

int Executor::on_every_value(ValueHook hook) {
  ++state_->hooks_everywhere;
  state_->value_hooks.push_back({state_->next_hook, -1, std::move(hook)});
  return state_->next_hook++;
}

int Executor::on_node(const std::string& node, NodeHook hook) {
  const Node* found = state_->graph.find_node(node);
  QUENCH_CHECK(found, "there is no node '", node, "' in the graph");
  state_->node_hooks.push_back({state_->next_hook, {found, std::move(hook)}});
  return state_->next_hook++;
}

void Executor::set_observer(const std::string& node, Observer* observer) {
  const Node* found = state_->graph.find_node(node);
  QUENCH_CHECK(found, "there is no node '", node, "' in the graph");
  state_->observers[found] = observer;
}

int Executor::on_gradient(const std::string& value, GradientHook hook) {
  QUENCH_CHECK(state_->options.grad, "a gradient hook needs ExecOptions::grad");
  const int id = state_->program.id_of(state_->graph.value(value));
  ++state_->hooks_at[static_cast<std::size_t>(id)];
  state_->gradient_hooks.push_back({state_->next_hook, id, std::move(hook)});
  return state_->next_hook++;
}

void Executor::remove_hook(int hook) {
  const auto forget = [&](const auto& hooked) {
    if (hooked.number != hook) return false;
    if (hooked.value < 0)
      --state_->hooks_everywhere;
    else
      --state_->hooks_at[static_cast<std::size_t>(hooked.value)];
    return true;
  };
  std::erase_if(state_->value_hooks, forget);
  std::erase_if(state_->gradient_hooks, forget);
  std::erase_if(state_->node_hooks, [&](const auto& hooked) { return hooked.first == hook; });
}

ExecOptions& Executor::options() { return state_->options; }
const Graph& Executor::graph() const { return state_->graph; }
void Executor::refresh_constants() { state_->load_constants(); }

}  // namespace quench
