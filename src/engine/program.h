// A compiled graph: a list of steps over pieces of memory (slots). One program serves any number of frames, each with
// memory of its own, at the same time.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/onednn.h"
#include "quench/executor.h"

namespace quench {

class Frame;
class Turns;

// A place for one tensor while a program runs.
struct Slot {
  DnnlLayout layout;
  int input = -1;             // the graph's input that it is: memory of the caller
  int alias_of = -1;          // the slot whose memory it is, seen in another shape
  std::int64_t shift = 0;     // where in that memory, in bytes
  std::int64_t offset = -1;   // in the arena
  int first = -1, last = -1;  // the steps that write it first and read it last
};

struct StepName {
  std::string node, op, kernel;
};

class Task {
 public:
  virtual ~Task() = default;
  virtual void bind(Frame&) const {}  // once per frame, before the first run
  virtual void run(Frame& frame) const = 0;

  StepName name;
  int index = 0;  // in the program
};

// A value of the graph: in a slot, or (what oneDNN has no type or shape for) as the executor holds it.
struct Place {
  int slot = -1;
  int value = -1;  // in Frame::values
};

struct TaskList {
  std::vector<Slot> slots;
  std::vector<std::unique_ptr<Task>> steps;
  int values = 0;                // how many the frame holds as the executor does
  std::vector<int> input_slots;  // by graph input; -1 if it is among the values
  std::vector<int> input_values;
  std::vector<Place> outputs;
  std::size_t arena_bytes = 0;
};

class Frame {
 public:
  Frame(const TaskList& program, const Graph& graph);
  ~Frame();
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  std::byte* data(int slot) const { return data_[static_cast<std::size_t>(slot)]; }
  template <typename T>
  T* as(int slot) const {
    return reinterpret_cast<T*>(data(slot));
  }
  std::vector<RtValue> run(const std::vector<RtValue>& inputs, std::vector<double>* seconds = nullptr);

  std::vector<RtValue> values;
  std::vector<std::unordered_map<int, dnnl::memory>> arguments;  // of oneDNN's primitives, by step
  dnnl::stream stream;
  Executor executor;       // for what has no kernel
  Turns* turns = nullptr;  // where other batches run at the same time: at what is watched they take turns
  std::int64_t batch = 0;  // which of them this is

 private:
  void place(int slot, std::byte* at);
  const TaskList& program_;
  std::unique_ptr<std::byte, void (*)(std::byte*)> arena_;
  std::vector<std::byte*> data_;
};

// Gives every slot without memory of its own an offset, so that no two overlap while both are in use. Returns the bytes
// of all.
std::size_t plan_arena(std::vector<Slot>& slots);

}  // namespace quench
