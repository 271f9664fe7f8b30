// What a reconstruction method is: a function that is handed one unit after the other, learns on it, and commits what
// it learned. One file in src/reconstruct/methods, or in a plug-in; examples/own_ptq_method.cpp is a complete one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "quench/executor.h"
#include "quench/options.h"
#include "quench/reconstruct.h"
#include "quench/registry.h"

namespace at {
class Tensor;
}

namespace quench {

// One unit while a method works on it.
class UnitWork {
 public:
  virtual ~UnitWork() = default;

  virtual const Unit& unit() const = 0;
  virtual const Options& options() const = 0;  // of the method
  virtual const std::string& device() const = 0;
  virtual std::uint64_t seed() const = 0;  // another one for each unit
  virtual std::int64_t items() const = 0;
  virtual std::int64_t batch() const = 0;  // items that a step takes, if the method has no reason for another number

  // The numbers of the items of a step (int64, on the device): each is drawn once before any is drawn again.
  virtual at::Tensor draw(std::int64_t step) const = 0;
  virtual at::Tensor draws(std::int64_t first, std::int64_t steps) const = 0;  // of several steps, a row each
  // What enters the unit in the float network, and in the quantized one, whose units before this one are finished; what
  // leaves it in the float one. On the device.
  virtual NamedValues float_inputs(const at::Tensor& rows) const = 0;
  virtual NamedValues quantized_inputs(const at::Tensor& rows) const = 0;
  virtual at::Tensor target(const at::Tensor& rows) const = 0;
  // How much the network's outputs mind a change of each element of the target; 1 on average. The first call computes
  // it for all items, by the gradient of the rest of the float network. This and the next two are for units: nothing
  // lies behind the whole network.
  virtual at::Tensor sensitivity(const at::Tensor& rows) = 0;
  // What the float network gives for these items, and what it would give if the unit's output was this for them:
  // everything behind the unit in float, recorded for autograd. For networks with one float output.
  virtual at::Tensor prediction(const at::Tensor& rows) = 0;
  virtual at::Tensor predict(const at::Tensor& output, const at::Tensor& rows) = 0;

  // The unit's quantizers. A weight's is here if it can learn: its weight is a constant that nothing else reads.
  virtual std::vector<Node*> weights() const = 0;
  virtual std::vector<Node*> activations() const = 0;
  // Constants that are added to what a layer gives, per channel: its bias, or that of the BatchNormalization behind it.
  virtual std::vector<Value*> biases() const = 0;
  // From now on run() reads this in place of a value (what a quantizer of a weight gives, a bias); it may require a
  // gradient.
  virtual void replace(const Value& value, const at::Tensor& by) = 0;
  // The unit's output, recorded for autograd. `step` numbers the random choices of quantizers that drop.
  virtual at::Tensor run(const NamedValues& inputs, std::uint64_t step) = 0;
  // The same of values inside the unit; and what these are in the float network on these inputs, not recorded.
  virtual NamedValues run(const NamedValues& inputs, std::uint64_t step, const std::vector<std::string>& values) = 0;
  virtual NamedValues run_float(const NamedValues& inputs, const std::vector<std::string>& values) = 0;
  // Where this is the whole network (PtqMethod::join): the outputs of its units. And a quantizer as it was before any
  // unit learned, with its weight.
  virtual const std::vector<std::string>& ends() const = 0;
  virtual const Node& calibrated(const Node& quantizer) const = 0;

  // For a step that is captured and replayed on a GPU (kernels/replay.h): whether all of the above work on the device
  // alone; and an int64 there that is added to `step`.
  virtual bool stays_on_device() const { return false; }
  virtual void count_by(const at::Tensor& counter) = 0;

  // A weight (what its quantizer reads), a bias, or a scale, zero point or tensor of its own that one of the unit's
  // quantizers reads becomes this, and nothing is replaced for it any more. A weight that does not lie on its
  // quantizer's grid is rounded by it: its scale is committed first.
  virtual void commit(Value& constant, const at::Tensor& by) = 0;

  virtual void progress(std::int64_t done, std::int64_t total) = 0;
};

struct PtqMethod {
  static constexpr const char* kKind = "reconstruction method";
  // Learns on the unit. Fills in what it knows of the record: iterations, note.
  void (*learn)(UnitWork& work, UnitRecord& record) = nullptr;
  std::vector<OptionInfo> options = {};             // beside those that every method has
  const char* pattern = "block";                    // the units that it wants by default
  void (*check)(const Options& options) = nullptr;  // throws for values of its options that make no sense
  // After all units, on the network as one unit, unless joint_iterations() is 0. That is asked before the first unit,
  // and throws for options that do not fit the network.
  void (*join)(UnitWork& network, UnitRecord& record) = nullptr;
  std::int64_t (*joint_iterations)(const Options& options, const Graph& network) = nullptr;
  // Whether, with these options, a unit whose error is larger after learn() than before it stays as it was: for methods
  // that learn from this error alone. join() sees to that itself. Null: never.
  bool (*keeps_better)(const Options& options) = nullptr;
  // Which of its options have no effect with these values of the others. Null: none.
  std::vector<std::string> (*idle)(const Options& options) = nullptr;
};
using PtqMethodRegistry = Registry<PtqMethod>;

// All options of a method: its own and those that every method has (pattern, units, batch, half, ...).
std::vector<OptionInfo> options_of(const PtqMethod& method);
// `given` over the defaults; throws for an unknown method or option and for a value that makes no sense.
Options checked_method_options(const std::string& method, const Options& given);
// Which of these, as checked_method_options() gives them, somebody set although they have no effect.
std::vector<std::string> idle_method_options(const std::string& method, const Options& options);

}  // namespace quench

// QUENCH_REGISTER_PTQ_METHOD("mine", learn_mine, "what it does", {{"rate", 1e-3, "..."}}, "layer")
#define QUENCH_REGISTER_PTQ_METHOD(name, learn, summary, ...) \
  QUENCH_REGISTER_ITEM(::quench::PtqMethod, name, summary, {learn, __VA_ARGS__})
