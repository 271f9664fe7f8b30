// The observers of a model's quantizers, from creation (each leading quantizer gets the observer that the plan names),
// through seeing data, to writing what they found into the quantizers' constants.
// calibrate() feeds them from a data set; a program with its own loop attaches an Executor.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "quench/executor.h"
#include "quench/quantized_model.h"

namespace quench {

// A quantizer with a scale of its own.
struct ObservedQuantizer {
  Node* node = nullptr;
  std::shared_ptr<const FakeQuant> algorithm;
  std::unique_ptr<Observer> observer;
  bool from_data = false;  // else its value follows from constants alone: a weight
  Value& value() const { return *node->input(0); }
  void observe(const at::Tensor& x) const;  // as the node itself does while it observes
};

// One that has the constants of its leader, and sees nothing itself.
struct FollowingQuantizer {
  Node* node = nullptr;
  const Node* leader = nullptr;
};

class Observing {
 public:
  // Gives every quantizer tensors that no copy of the graph shares, so that only this model changes. Its nodes must
  // outlive it (the model may move); executors of the graph are made afterwards.
  explicit Observing(QuantizedModel& model);

  // Lets those whose value follows from constants see it, once.
  void observe_constants(const Graph& graph);
  // From now on the quantizers of the executor's graph (this one, or a copy) that observe show it to us.
  void attach(Executor& executor);
  // In batches of `of` items only the first `items` count (Observer::count_items).
  void count_items(std::int64_t items, std::int64_t of) const;
  // Whether what they find depends on how the data is cut into batches.
  bool by_batch() const;
  // A leader's scale is known after the first batch that it observed and quantized: those that follow it join then.
  void switch_followers_on() const;
  // The model is calibrated afterwards: constants hold what the observers found, `quantize` is on, `observe` off.
  // If any saw nothing, throws, naming them all, and changes nothing.
  void take_over(QuantizedModel& model);

  const std::vector<ObservedQuantizer>& quantizers() const { return quantizers_; }  // in order of the graph

 private:
  std::vector<ObservedQuantizer> quantizers_;
  std::vector<FollowingQuantizer> followers_;
};

}  // namespace quench
