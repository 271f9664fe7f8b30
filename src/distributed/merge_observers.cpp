#include <ATen/ATen.h>

#include "quench/distributed.h"
#include "quench/error.h"
#include "quench/observer.h"
#include "quench/safetensors.h"

namespace quench {
namespace {

std::string key_of(std::size_t observer) { return concat(observer, "/"); }

std::string states_of(const std::vector<Observer*>& observers) {
  TensorMap all;
  for (std::size_t i = 0; i < observers.size(); ++i)
    for (const auto& [name, tensor] : observers[i]->state()) all[key_of(i) + name] = tensor;
  return safetensors_bytes(all);
}

std::map<std::string, at::Tensor> state_of(const TensorMap& all, std::size_t observer) {
  const std::string key = key_of(observer);
  std::map<std::string, at::Tensor> state;
  for (auto at = all.lower_bound(key); at != all.end() && at->first.starts_with(key); ++at)
    state[at->first.substr(key.size())] = at->second;
  return state;
}

using State = std::map<std::string, at::Tensor>;

std::int64_t batches_of(const State& state) {
  const auto found = state.find("batches");
  return found == state.end() ? 0 : found->second.item<std::int64_t>();
}

// Both began with `before`. A moving range is monotone in that of the batch, so that its least and greatest value over
// the shares is the one that the whole batch gives, to the bit. What is neither is a sum. A share that was empty is
// still at `before`, and says nothing of this batch.
void join(State& own, const State& other, const State& before) {
  if (batches_of(other) == batches_of(before)) return;
  if (batches_of(own) == batches_of(before)) {
    own = other;
    return;
  }
  for (auto& [name, tensor] : own) {
    if (name == "shape") continue;
    const at::Tensor& theirs = other.at(name);
    if (name == "min")
      tensor = at::minimum(tensor, theirs);
    else if (name == "max" || name == "batches")
      tensor = at::maximum(tensor, theirs);
    else
      tensor = before.contains(name) ? tensor + (theirs - before.at(name)) : tensor + theirs;
  }
}

}  // namespace

void join_shares(const Processes& processes, const std::vector<Observer*>& observers,
                 const std::vector<State>& before) {
  if (!processes.are_several()) return;
  for (const Observer* one : observers)
    QUENCH_CHECK(one->refreshable(), "an observer '", one->kind(), "' cannot be joined in the middle of training");
  std::vector<TensorMap> all;
  for (const std::string& bytes : processes.gather(states_of(observers))) all.push_back(tensors_of_bytes(bytes));
  for (std::size_t i = 0; i < observers.size(); ++i) {
    State joined = state_of(all.front(), i);
    for (std::size_t rank = 1; rank < all.size(); ++rank) join(joined, state_of(all[rank], i), before[i]);
    observers[i]->load(joined);
  }
}

void merge_observers(const Processes& processes, const std::vector<Observer*>& observers) {
  if (!processes.are_several()) return;
  std::vector<TensorMap> all;
  for (const std::string& bytes : processes.gather(states_of(observers))) all.push_back(tensors_of_bytes(bytes));
  for (std::size_t i = 0; i < observers.size(); ++i) {
    Observer& merged = *observers[i];
    merged.load(state_of(all.front(), i));
    const std::unique_ptr<Observer> other = make_observer(merged.kind(), merged.scheme(), merged.options());
    for (std::size_t rank = 1; rank < all.size(); ++rank) {
      other->load(state_of(all[rank], i));
      merged.merge(*other);
    }
  }
}

void copy_first_observers(const Processes& processes, const std::vector<Observer*>& observers) {
  if (!processes.are_several()) return;
  const TensorMap first = tensors_of_bytes(processes.broadcast(states_of(observers)));
  for (std::size_t i = 0; i < observers.size(); ++i) observers[i]->load(state_of(first, i));
}

}  // namespace quench
