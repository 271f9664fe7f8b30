// Executor: runs a graph, or the part of it between given values, node by node. Frees each tensor after
// its last use, calls hooks, works with or without autograd. Calibration, comparison, reconstruction and
// training are users of it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "quench/graph.h"
#include "quench/rt_value.h"

namespace quench {

struct ExecOptions {
  bool training = false;        // BatchNormalization and Dropout of nodes that are not frozen
  bool reconstructing = false;  // QDrop leaves elements as they are, at random
  bool grad = false;            // record for autograd; else no-grad
  bool channels_last = false;   // give 4-D float inputs the channels-last layout first
  std::string device = "cpu";   // or "cuda", "cuda:1": where inputs are put; constants follow, once
  std::uint64_t seed = 0;       // of the run's random generator
  std::uint64_t step = 0;       // of training or reconstruction: part of the key of random numbers in kernels
  const std::uint64_t* counter = nullptr;      // the same, counted on a GPU (quench/random_key.h)
  const struct BatchShares* shares = nullptr;  // of this batch, in training (quench/op.h)
};

class Observer;

enum class Next : std::uint8_t { kContinue, kStop };

// Sees a value right after it is made (or fed); may replace it by assigning; kStop ends the run there.
using ValueHook = std::function<Next(const Value& value, RtValue& result)>;
// Sees all outputs of a node, before the hooks on its values.
using NodeHook = std::function<Next(const Node& node, std::vector<RtValue>& results)>;
// Sees the gradient that arrives at a value; may replace it by assigning.
using GradientHook = std::function<void(const Value& value, at::Tensor& gradient)>;

using NamedValues = std::map<std::string, RtValue>;

class Executor {
 public:
  // The graph must outlive the executor. Editing it afterwards (nodes or links) needs a new executor;
  // new tensors of constants are seen after refresh_constants().
  explicit Executor(const Graph& graph, ExecOptions options = {});
  explicit Executor(const Graph&& graph, ExecOptions options = {}) = delete;  // a temporary would be gone
  virtual ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // All graph inputs in order -> all graph outputs in order. Checks count, dtype and fixed dims first.
  std::vector<RtValue> run(const std::vector<RtValue>& inputs);
  // The part between the fed values (which need not be graph inputs) and the fetched ones: only what
  // lies between runs. Throws when something fetched depends on a graph input that is not fed.
  NamedValues run(const NamedValues& feeds, const std::vector<std::string>& fetches);
  // After a hook stopped a run, what was not reached comes back as none.

  int on_value(const std::string& value, ValueHook hook);  // the number is for remove_hook
  int on_every_value(ValueHook hook);
  int on_node(const std::string& node, NodeHook hook);
  int on_gradient(const std::string& value, GradientHook hook);  // needs options.grad
  void remove_hook(int hook);

  // The observer of the quantizer of this name while it observes; null removes it. Not owned.
  void set_observer(const std::string& node, Observer* observer);

  ExecOptions& options();  // training, reconstructing, grad, seed and step may change between runs
  void refresh_constants();
  const Graph& graph() const;

 protected:
  // One node's evaluation. Overriding it sees everything: timing, recording, replacing.
  virtual std::vector<RtValue> run_node(const Node& node, const std::vector<RtValue>& inputs,
                                        class ExecContext& context);

 private:
  friend class RunContext;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quench
