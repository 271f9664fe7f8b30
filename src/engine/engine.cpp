#include "quench/engine.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>

#include "engine/batch.h"
#include "engine/compiled.h"
#include "engine/turns.h"
#include "graph/border.h"
#include "graph/input_check.h"
#include "kernels/parallel.h"
#include "ops/integer_form.h"
#include "quench/error.h"

namespace quench {
namespace {

// Activations of one part that should fit a thread's own cache, in bytes: as many codes as float numbers. More codes
// gain nothing, and integers take a quarter of the memory this way.
constexpr std::int64_t kCacheBytes = std::int64_t{2} << 20, kCacheBytesOfCodes = kCacheBytes / 4;
constexpr std::int64_t kLargestPart = 16;
constexpr std::size_t kMostShapes = 16;  // that are kept compiled

std::vector<Dims> dims_of_inputs(const std::vector<RtValue>& inputs) {
  std::vector<Dims> result;
  for (const RtValue& input : inputs) result.push_back(*input.type().dims);
  return result;
}

bool computes_on_codes(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const auto& node) { return is_integer_op(*node); });
}

RtValue on_cpu_in_order(const RtValue& input) { return {input.tensor().to(at::kCPU).contiguous(), input.dtype()}; }

}  // namespace

struct Engine::State {
  Graph graph;
  EngineOptions options;
  bool per_item;
  Executor executor;  // for what is not a batch of tensors
  PackedWeights weights;
  std::map<std::pair<std::string, int>, std::unique_ptr<Compiled>> compiled;  // by shapes and threads
  Compiled* last = nullptr;
  int last_part = 0;

  State(const Graph& of, EngineOptions with)
      : graph(of), options(std::move(with)), per_item(options.watches.empty() && is_per_item(graph)), executor(graph) {}

  int threads() const { return options.threads > 0 ? options.threads : at::get_num_threads(); }

  Compiled& compile(const std::vector<Dims>& inputs, int threads_each) {
    std::string key;
    for (const Dims& dims : inputs) key += text_of(dims);
    std::unique_ptr<Compiled>& found = compiled[{key, threads_each}];
    if (!found) found = std::make_unique<Compiled>(graph, inputs, threads_each, weights, options.watches);
    return *found;
  }

  // As many items as a thread's cache holds, or as make reading the weights half of the traffic; but no more than give
  // every thread a part.
  int part_of(std::int64_t batch, const std::vector<Dims>& one) {
    const std::int64_t share = (batch + threads() - 1) / threads();
    if (options.part > 0) return static_cast<int>(std::min<std::int64_t>(options.part, share));
    const auto bytes = std::max<std::int64_t>(static_cast<std::int64_t>(compile(one, 1).program.arena_bytes), 1);
    const std::int64_t room = computes_on_codes(graph) ? kCacheBytesOfCodes : kCacheBytes;
    const std::int64_t wanted = std::max({std::int64_t{1}, room / bytes, weights.bytes() / (2 * bytes)});
    const std::int64_t largest = std::min<std::int64_t>({wanted, share, kLargestPart});
    const std::int64_t least = (share + largest - 1) / largest;
    std::int64_t rounds = least;  // of parts of one size, so that no thread waits for another, and no part is a rest
    while (share % rounds != 0 && rounds < 2 * least) ++rounds;
    if (share % rounds != 0) rounds = least;
    return static_cast<int>((share + rounds - 1) / rounds);
  }

  void forget() {
    compiled.clear();
    last = nullptr;
  }

  std::vector<double>* timer(Compiled& of, std::size_t frame) { return options.measure ? &of.seconds[frame] : nullptr; }

  std::vector<RtValue> run_whole(const std::vector<RtValue>& inputs) {
    Compiled& one = compile(dims_of_inputs(inputs), threads());
    last = &one;
    last_part = 0;
    Frame& frame = one.frame(0);
    return frame.run(inputs, timer(one, 0));
  }

  // The inputs as kernels take them; nothing if the executor is to run them.
  std::optional<std::vector<RtValue>> checked(const std::vector<RtValue>& inputs) const;
  std::vector<RtValue> run_in_parts(const std::vector<RtValue>& inputs, std::int64_t batch);
  std::vector<std::vector<RtValue>> run_each(const std::vector<std::vector<RtValue>>& batches);
};

std::vector<RtValue> Engine::State::run_in_parts(const std::vector<RtValue>& inputs, std::int64_t batch) {
  std::vector<Dims> dims = dims_of_inputs(inputs);
  const auto with_batch = [&](std::int64_t items) {
    for (Dims& one : dims) one[0] = Dim(items);
    return dims;
  };
  const int part = part_of(batch, with_batch(1));
  const std::int64_t parts = (batch + part - 1) / part, rest = batch - (parts - 1) * part;
  Compiled& full = compile(with_batch(part), 1);
  Compiled& tail = compile(with_batch(rest), 1);
  const std::int64_t workers = std::min<std::int64_t>(threads(), parts);
  for (std::int64_t w = 0; w < workers; ++w) {
    full.frame(static_cast<std::size_t>(w));
    tail.frame(static_cast<std::size_t>(w));
  }
  last = &full;
  last_part = part;
  std::vector<std::vector<RtValue>> results(static_cast<std::size_t>(parts));
  const ThreadLimit limit(static_cast<int>(workers));
  in_parallel(workers, 1, [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t w = first; w < end; ++w)
      for (std::int64_t p = w; p < parts; p += workers) {
        Compiled& one = p + 1 == parts ? tail : full;
        const std::int64_t items = p + 1 == parts ? rest : part;
        std::vector<RtValue> slice;
        for (const RtValue& input : inputs)
          slice.emplace_back(input.tensor().narrow(0, p * part, items), input.dtype());
        const auto frame = static_cast<std::size_t>(w);
        results[static_cast<std::size_t>(p)] = one.frame(frame).run(slice, timer(one, frame));
      }
  });
  std::vector<RtValue> outputs;
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    std::vector<at::Tensor> pieces;
    for (const std::vector<RtValue>& result : results) pieces.push_back(result[i].tensor());
    outputs.emplace_back(at::cat(pieces), results[0][i].dtype());
  }
  return outputs;
}

Engine::Engine(const Graph& graph, EngineOptions options)
    : state_(std::make_unique<State>(graph, std::move(options))) {}
Engine::~Engine() = default;

std::optional<std::vector<RtValue>> Engine::State::checked(const std::vector<RtValue>& inputs) const {
  const std::vector<Value*>& declared = graph.inputs();
  QUENCH_CHECK(inputs.size() == declared.size(), "the graph takes ", declared.size(), " inputs, ", inputs.size(),
               " were given");
  std::vector<RtValue> given;
  bool is_tensors = true, is_empty = false;
  for (const RtValue& input : inputs) {
    is_tensors = is_tensors && input.is_tensor();
    is_empty = is_empty || (input.is_tensor() && input.tensor().numel() == 0);
  }
  if (!is_tensors || is_empty || inputs.empty()) return std::nullopt;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    given.push_back(on_cpu_in_order(in_type_of(*declared[i], inputs[i])));
    check_input(*declared[i], given.back());
  }
  return given;
}

// A thread takes the next batch whenever it has done one: the one before it is under way then, whoever waits for it.
std::vector<std::vector<RtValue>> Engine::State::run_each(const std::vector<std::vector<RtValue>>& batches) {
  std::vector<Compiled*> forms;
  const auto workers = std::min<std::size_t>(static_cast<std::size_t>(threads()), batches.size());
  for (const std::vector<RtValue>& inputs : batches) {
    forms.push_back(&compile(dims_of_inputs(inputs), 1));
    for (std::size_t w = 0; w < workers; ++w) forms.back()->frame(w);
  }
  last = forms.back();
  last_part = 0;
  Turns turns;
  std::atomic<std::size_t> next = 0;
  std::vector<std::vector<RtValue>> results(batches.size());
  const auto run_one = [&](std::size_t worker, std::size_t batch) {
    Frame& frame = forms[batch]->frame(worker);
    frame.turns = &turns;
    frame.batch = static_cast<std::int64_t>(batch);
    try {
      results[batch] = frame.run(batches[batch], timer(*forms[batch], worker));
    } catch (...) {
      turns.give_up();
      next = batches.size();  // nobody begins another
      frame.turns = nullptr;
      throw;
    }
    frame.turns = nullptr;
  };
  const ThreadLimit limit(static_cast<int>(workers));
  in_parallel(static_cast<std::int64_t>(workers), 1, [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t w = first; w < end; ++w)
      for (std::size_t batch = next++; batch < batches.size(); batch = next++)
        run_one(static_cast<std::size_t>(w), batch);
  });
  return results;
}

std::vector<RtValue> Engine::run(const std::vector<RtValue>& inputs) {
  const std::optional<std::vector<RtValue>> checked = state_->checked(inputs);
  if (!checked) return state_->executor.run(inputs);
  const std::vector<RtValue>& given = *checked;
  const std::int64_t batch = given[0].tensor().dim() > 0 ? given[0].tensor().size(0) : 0;
  const bool one_batch = std::all_of(given.begin(), given.end(), [&](const RtValue& input) {
    return input.tensor().dim() > 0 && input.tensor().size(0) == batch;
  });
  if (state_->compiled.size() > kMostShapes) state_->forget();
  if (state_->per_item && one_batch && batch >= state_->threads()) return state_->run_in_parts(given, batch);
  return state_->run_whole(given);
}

std::vector<std::vector<RtValue>> Engine::run_each(const std::vector<std::vector<RtValue>>& batches) {
  std::vector<std::vector<RtValue>> given, results;
  for (const std::vector<RtValue>& inputs : batches)
    if (std::optional<std::vector<RtValue>> checked = state_->checked(inputs)) given.push_back(std::move(*checked));
  if (given.size() == batches.size() && !given.empty()) {
    if (state_->compiled.size() > kMostShapes) state_->forget();
    return state_->run_each(given);
  }
  for (const std::vector<RtValue>& inputs : batches) results.push_back(run(inputs));
  return results;
}

std::vector<EngineStep> Engine::steps() const {
  std::vector<EngineStep> steps;
  if (!state_->last) return steps;
  for (const auto& step : state_->last->program.steps) {
    EngineStep one{step->name.node, step->name.op, step->name.kernel, 0.0};
    for (const std::vector<double>& seconds : state_->last->seconds)
      one.seconds += seconds[static_cast<std::size_t>(step->index)];
    steps.push_back(std::move(one));
  }
  return steps;
}

std::int64_t Engine::weight_bytes() const { return state_->weights.bytes(); }

std::int64_t Engine::arena_bytes() const {
  std::int64_t bytes = 0;
  for (const auto& [key, one] : state_->compiled)
    bytes += static_cast<std::int64_t>(one->program.arena_bytes * one->frames.size());
  return bytes;
}

int Engine::part() const { return state_->last_part; }

bool has_integer_kernels(const Graph& graph) {
  std::vector<Dims> inputs;
  for (const Value* input : graph.inputs()) {
    if (!input->has_rank()) return false;
    Dims dims = input->dims();
    for (Dim& dim : dims)
      if (!dim.is_number()) dim = Dim(1);
    inputs.push_back(std::move(dims));
  }
  PackedWeights weights;
  const Compiled one(graph, inputs, 1, weights, {});  // throws if no size of the open dims fits
  return std::all_of(one.program.steps.begin(), one.program.steps.end(), [](const auto& step) {
    return !step->name.op.starts_with("quench.") || step->name.kernel != "executor";
  });
}

bool has_engine_kernels() { return true; }

}  // namespace quench
