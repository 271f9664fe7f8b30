// The operator registry: all that other stages may ask about an operator. One entry per ONNX operator
// (opset 21 semantics); several near relatives share a file in src/ops/.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "quench/graph.h"
#include "quench/random_key.h"
#include "quench/registry.h"
#include "quench/rt_value.h"

namespace c10 {
struct Device;
}
namespace at {
struct Generator;
}

namespace quench {

class Observer;

enum class RangeRule : std::uint8_t {
  kOwn,     // the output's range must be observed
  kPasses,  // never leaves the input's range: MaxPool, Reshape, Transpose
  kFixed,   // known beforehand: Sigmoid, Softmax
};

struct OpTraits {
  int weight_slot = -1;  // input that may hold a constant weight: 1 for Conv, Gemm, MatMul
  int bias_slot = -1;
  int (*weight_axis)(const Node&) = nullptr;  // output-channel axis of that weight (Gemm: depends on transB)
  int channel_axis = 1;                       // of the data tensor
  RangeRule range = RangeRule::kOwn;
  double fixed_min = 0.0, fixed_max = 0.0;
  bool non_negative = false;                   // Relu, Sigmoid, Softmax: never below zero
  bool keeps_sign = false;                     // Add, AveragePool, Concat: non-negative if all inputs are
  bool (*moves_codes)(const Node&) = nullptr;  // see below; null: it does not
  bool shape_only = false;                     // Shape, Size: reads dims, never elements
  bool quantizes = false;                      // QuantizeLinear, DequantizeLinear, FakeQuant: carries a scheme
  bool random = false;                         // differs from call to call: never folded
  std::vector<int> parameter_slots;            // inputs that training changes where they are float constants
  std::vector<int> (*learned_slots)(const Node&) = nullptr;  // the same, where it depends on the node
  int state_from = -1;  // inputs from here on are constants that any run may write: moved to the device for good
  std::vector<int> buffer_slots;                // inputs that training writes: running mean and variance
  std::vector<int> host_slots;                  // inputs read as numbers (shapes, axes): kept on the CPU
  std::int64_t (*macs)(const Node&) = nullptr;  // multiply-accumulates for one run, from the static dims; -1 unknown
};

// In training by several processes: a batch is the equal shares of all of them.
struct BatchShares {
  int count = 1;
  std::function<void(at::Tensor& tensor)> mean;  // over the processes, in place; all must call it in the same order
};

// What an operator may ask of the run it is part of.
class ExecContext {
 public:
  virtual ~ExecContext() = default;
  bool training = false;                          // read by BatchNormalization and Dropout
  bool reconstructing = false;                    // read by QDrop
  const BatchShares* shares = nullptr;            // read by BatchNormalization; null: the batch is whole
  virtual const c10::Device& device() const = 0;  // for operators that make tensors from nothing
  virtual at::Generator& generator() = 0;         // seeded by the run's options
  // Of this node in this run, for numbers made by Philox.
  virtual RandomKey random_key(const Node&) const { return {}; }
  // The observer of a quantizer that observes; null if none was named.
  virtual Observer* observer(const Node&) const { return nullptr; }
  // Runs a body of `node` (If, Loop, Scan). `inputs` fit the body's own inputs, captures included.
  virtual std::vector<RtValue> run_body(const Graph& body, const std::vector<RtValue>& inputs) = 0;
};

// One per slot of the node; none where absent. Reading past the end gives none too, so that a node with too
// few inputs (files lie) ends in an error, not in a crash.
class Inputs : public std::vector<RtValue> {
 public:
  using std::vector<RtValue>::vector;
  Inputs(std::vector<RtValue> values) : std::vector<RtValue>(std::move(values)) {}  // NOLINT: the same thing
  RtValue& operator[](std::size_t slot) { return std::vector<RtValue>::operator[](slot); }
  const RtValue& operator[](std::size_t slot) const {
    static const RtValue none;
    return slot < size() ? std::vector<RtValue>::operator[](slot) : none;
  }
};
// One value per output of the node. Must not write into its inputs (buffer_slots in training excepted).
using Evaluate = std::vector<RtValue> (*)(const Node& node, const Inputs& inputs, ExecContext& context);
// Fills the outputs' types (and `contents`) from the inputs'. What is not known stays unknown.
using InferShapes = void (*)(Node& node);
// Called once per executor, when the node first runs: what it returns (none: keep) is handed to evaluate
// from then on instead of constant inputs. For weights packed once.
using Prepare = Inputs (*)(const Node& node, const Inputs& inputs);

struct OpEntry {
  static constexpr const char* kKind = "operator";
  Evaluate evaluate = nullptr;
  InferShapes shapes = nullptr;
  OpTraits traits;
  Prepare prepare = nullptr;
};
using OpRegistry = Registry<OpEntry>;

// The entry of a node's op; throws "operator 'X' is not supported" with the node's name.
const OpEntry& entry_of(const Node& node);

// Whether every number that it writes is one of its first input's (Reshape, MaxPool, Gather, a nearest Resize), or a
// zero of its own (Pad): what came from codes is on their grid still, since zero is on every grid. What a target makes
// of that is the target's affair.
bool moves_codes(const Node& node);

// Types of all values, from the graph's inputs onwards, bodies included; how many types it changed.
int infer_shapes(Graph& graph);

}  // namespace quench

// QUENCH_REGISTER_OP("Relu", relu, same_as_input, relu_traits(), "max(x, 0)")
#define QUENCH_REGISTER_OP(name, evaluate, shapes, traits, summary) \
  QUENCH_REGISTER_ITEM(::quench::OpEntry, name, summary, {evaluate, shapes, traits})
