// Engine: runs a graph fast on the CPU, float or integer (quench/convert.h). Layers are oneDNN's kernels on weights
// packed once, or loops of our own; activations lie in one arena that is planned before the first run; a batch is cut
// into parts, one thread each. Integer layers give exactly the codes of their plain definition (quant/integer_ops.h).
// What has no kernel here runs in the executor, with the same result. One run at a time.
//
//   quench::Engine engine(graph);                 // after engine_passes(), quench/pass.h
//   std::vector<quench::RtValue> outputs = engine.run(inputs);
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "quench/executor.h"
#include "quench/graph.h"
#include "quench/rt_value.h"

namespace quench {

// Sees a value as soon as it is computed, in memory that is used again later: to keep it, copy it. With `any_order` its
// elements may come in another order and rank than the graph's, the batch still first; that saves a copy.
struct Watch {
  std::string value;
  bool any_order = false;
  std::function<void(const at::Tensor&)> see;
};

struct EngineOptions {
  int threads = 0;                  // 0: LibTorch's number (quench/process.h)
  int part = 0;                     // items that a thread takes at a time; 0: chosen by memory
  bool measure = false;             // time each step, for steps()
  std::vector<Watch> watches = {};  // of outputs of the graph; with any, the batch stays whole: one call per run
};

// One step of a compiled graph, in order.
struct EngineStep {
  std::string node, op;
  std::string kernel;  // oneDNN's name of it, "own ...", or "executor"
  double seconds = 0;  // of all runs so far, over all threads; with EngineOptions::measure
};

class Engine {
 public:
  // Keeps a copy of the graph; its tensors are shared.
  explicit Engine(const Graph& graph, EngineOptions options = {});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // All graph inputs in order -> all graph outputs in order. Compiles for shapes that it has not seen yet.
  std::vector<RtValue> run(const std::vector<RtValue>& inputs);
  // Several batches, each by one thread from beginning to end, as many at a time as there are threads. Whoever watches
  // a value sees one batch after another, in order; different values are shown by different threads at the same time.
  // What comes out does not depend on the number of threads.
  std::vector<std::vector<RtValue>> run_each(const std::vector<std::vector<RtValue>>& batches);

  // Of the shapes that ran last.
  std::vector<EngineStep> steps() const;
  std::int64_t weight_bytes() const;  // of all constants, packed ones as they are packed
  std::int64_t arena_bytes() const;   // activations and scratch memory, of all threads
  int part() const;                   // items that a thread takes at a time; 0 if the batch is not cut

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Whether every layer on codes has a kernel here: the others' plain arithmetic is many times slower.
bool has_integer_kernels(const Graph& graph);

// False in a build without oneDNN (docs/building.md): everything runs in the executor.
bool has_engine_kernels();

}  // namespace quench
