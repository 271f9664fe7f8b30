#include "calibrate/observing.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <set>

#include "core/joined.h"
#include "kernels/parallel.h"
#include "quench/error.h"
#include "quench/quantizers.h"

namespace quench {
namespace {

std::set<const Value*> values_of_data(const Graph& graph) {
  std::set<const Value*> found(graph.inputs().begin(), graph.inputs().end());
  for (const auto& node : graph.nodes())
    for (const Value* input : node->inputs())
      if (found.contains(input)) found.insert(node->outputs().begin(), node->outputs().end());
  found.erase(nullptr);
  return found;
}

// A copy of a graph shares its tensors, and a quantizer's are written in place.
void give_own_tensors(Graph& graph) {
  std::set<const Value*> done;
  for (const Node* node : quantizers_of(graph)) {
    for (std::size_t slot = 1; slot < node->inputs().size(); ++slot) {
      Value* state = node->inputs()[slot];
      if (!state || !state->is_constant() || !done.insert(state).second) continue;
      const at::Tensor& old = state->tensor();
      graph.set_tensor(*state, old.detach().clone().set_requires_grad(old.requires_grad()));
    }
  }
}

bool has_seen(const Observer& observer) {
  return observer.seen() || !ObserverRegistry::instance().get(observer.kind()).needs_data;
}

// A search costs up to 50 ms per quantizer: each is one thread's work.
std::vector<QParams> all_qparams(const std::vector<ObservedQuantizer>& quantizers) {
  std::vector<QParams> found(quantizers.size());
  in_parallel(static_cast<std::int64_t>(found.size()), 1, [&](std::int64_t first, std::int64_t last) {
    for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i)
      found[i] = with_context([&] { return concat("at ", quantizers[i].node->where()); },
                              [&] { return quantizers[i].observer->qparams(); });
  });
  return found;
}

}  // namespace

void ObservedQuantizer::observe(const at::Tensor& x) const {
  const c10::NoGradGuard no_grad;
  with_context([&] { return concat("at ", node->where()); },
               [&] { observer->observe(algorithm->transform(x.detach().to(at::kFloat))); });
}

Observing::Observing(QuantizedModel& model) {
  verify(model, ModelStage::kPrepared);
  const std::set<const Value*> of_data = values_of_data(model.graph);
  for (Node* node : quantizers_of(model.graph)) {
    if (const Node* leader = leader_of(model, *node)) {
      followers_.push_back({node, leader});
      continue;
    }
    if (std::unique_ptr<Observer> observer = observer_of(model, *node))
      quantizers_.push_back({node, fake_quant_of(*node), std::move(observer), of_data.contains(node->input(0))});
    else
      QUENCH_CHECK(model.stage >= ModelStage::kCalibrated, node->where(),
                   " has neither a scale nor an observer: it cannot be calibrated");
  }
  give_own_tensors(model.graph);
}

void Observing::observe_constants(const Graph& graph) {
  std::vector<std::string> names;
  for (const ObservedQuantizer& one : quantizers_)
    if (!one.from_data && !one.observer->seen()) names.push_back(one.value().name());
  if (names.empty()) return;
  Executor executor(graph);
  const NamedValues found = executor.run({}, names);
  for (const ObservedQuantizer& one : quantizers_)
    if (!one.from_data && !one.observer->seen())
      with_context([&] { return concat("'", one.value().name(), "' is the model's own, not of the data"); },
                   [&] { one.observe(found.at(one.value().name()).tensor()); });
}

void Observing::attach(Executor& executor) {
  for (const ObservedQuantizer& one : quantizers_) executor.set_observer(one.node->name(), one.observer.get());
}

void Observing::count_items(std::int64_t items, std::int64_t of) const {
  for (const ObservedQuantizer& one : quantizers_) one.observer->count_items(items, of);
}

bool Observing::by_batch() const {
  return std::any_of(quantizers_.begin(), quantizers_.end(),
                     [](const ObservedQuantizer& one) { return one.from_data && one.observer->by_batch(); });
}

void Observing::switch_followers_on() const {
  for (const FollowingQuantizer& one : followers_)
    if (fake_quant_flags(*one.leader).quantize) set_fake_quant_flags(*one.node, {.quantize = true});
}

void Observing::take_over(QuantizedModel& model) {
  std::vector<std::string> blind;
  for (const ObservedQuantizer& one : quantizers_)
    if (!has_seen(*one.observer)) blind.push_back(one.value().name());
  QUENCH_CHECK(blind.empty(), "nothing was observed for ", joined_in_quotes(blind),
               ": no data reached these quantizers, so they have no scale");
  const std::vector<QParams> found = all_qparams(quantizers_);
  for (std::size_t i = 0; i < found.size(); ++i)
    with_context([&] { return concat("at ", quantizers_[i].node->where()); },
                 [&] { quantizers_[i].algorithm->accept(found[i], fake_quant_tensors(*quantizers_[i].node)); });
  set_state(model.graph, std::nullopt, {.quantize = true});
  model.stage = std::max(model.stage, ModelStage::kCalibrated);
}

}  // namespace quench
