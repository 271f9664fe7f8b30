#include "data/feedback.h"

#include <ATen/ATen.h>

#include "data/batch_size.h"
#include "data/bind_inputs.h"
#include "data/dataset_view.h"
#include "graph/tensor_types.h"
#include "quench/executor.h"
#include "quench/quantizers.h"

namespace quench {
namespace {

// The graph's output of that name, whether or not a quantizer follows it by now.
std::string state_output(const Graph& graph, const std::string& input, const std::string& output) {
  const Value* in = graph.find_value(input);
  QUENCH_CHECK(in && in->is_input(), "feedback=", input, ":", output, ": the model has no input '", input,
               "'; it takes ", input_list(graph));
  std::string outputs;
  for (const Value* one : graph.outputs()) {
    const Node* quantizer = one->producer();
    const bool quantized = is_quantizer(quantizer);
    const std::string& name = quantized ? quantizer->input(0)->name() : one->name();
    if (name == output || one->name() == output) return one->name();
    outputs += concat(outputs.empty() ? "'" : ", '", name, "'");
  }
  fail("feedback=", input, ":", output, ": the model has no output '", output, "'; it gives ", outputs);
}

// Zeros of the input's shape for one item.
RtValue zeros_for(const Value& input) {
  QUENCH_CHECK(input.has_rank(), "the state '", input.name(),
               "' has no known shape: give the data a first value of it");
  std::vector<std::int64_t> sizes;
  for (const Dim& dim : input.dims()) sizes.push_back(dim.is_number() ? dim.number() : 1);
  return {at::zeros(sizes, scalar_type_of(input.dtype())), input.dtype()};
}

// Whether the first axis of a state is the batch of the other inputs: then items can be stacked along it.
bool is_batched(const Value& state, const Graph& graph, const Feedback& feedback) {
  if (!state.has_rank() || state.rank() == 0 || !state.dims()[0].is_symbol()) return false;
  for (const Value* input : graph.inputs())
    if (!feedback.states.contains(input->name()) && input->has_rank() && input->rank() > 0 &&
        input->dims()[0].certainly_equal(state.dims()[0]))
      return true;
  return false;
}

// The data's items with the states that each met.
class WithStates : public DatasetView {
 public:
  WithStates(const Graph& graph, const Dataset& data, std::vector<NamedValues> states)
      : DatasetView(data), graph_(graph), states_(std::move(states)) {}
  Feedback feedback() const override { return {}; }
  NamedValues shared() const override {
    NamedValues shared = data().shared();
    for (const auto& [input, output] : data().feedback().states) shared.erase(input);
    return shared;
  }
  std::string token_input() const override {
    if (!data().token_input().empty()) return data().token_input();
    return name_values(graph_, data().get(0).inputs, data()).begin()->first;
  }
  Sample get(std::int64_t index) const override {
    Sample sample = data().get(index);
    NamedValues all = name_values(graph_, sample.inputs, data());
    all.merge(NamedValues(states_[static_cast<std::size_t>(index)]));
    sample.inputs = all;
    return sample;
  }

 private:
  const Graph& graph_;
  std::vector<NamedValues> states_;
};

// Runs the graph over the data, one item after the other.
class StateRun {
 public:
  StateRun(const Graph& graph, const Dataset& data)
      : graph_(graph), data_(data), feedback_(data.feedback()), executor_(graph) {
    for (auto& [input, output] : feedback_.states) {
      output = state_output(graph, input, output);
      outputs_.push_back(output);
    }
    const std::int64_t fixed = fixed_batch(graph, &data);
    QUENCH_CHECK(fixed <= 1, "feedback= goes from item to item, but the model's batch is fixed at ", fixed);
  }

  // The states of every item, without the axis of a batch where they can be stacked.
  std::vector<NamedValues> run(bool skip_broken) {
    std::vector<NamedValues> met;
    for (std::int64_t index = 0; index < data_.size(); ++index) {
      if (feedback_.sequence > 0 && index % feedback_.sequence == 0) state_.clear();
      try {
        with_context([&] { return concat("while reading item ", index); }, [&] { start(data_.get(index)); });
      } catch (const Error&) {
        if (!skip_broken) throw;
        met.emplace_back();
        continue;
      }
      met.push_back(as_items(state_));
      with_context([&] { return concat("while computing the state after item ", index); }, [&] { step(); });
    }
    return met;
  }

 private:
  // Keeps the item; where a sequence begins, the state is its own or zeros.
  void start(const Sample& sample) {
    item_ = name_values(graph_, sample.inputs, data_);
    if (!state_.empty()) return;
    const NamedValues shared = data_.shared();
    for (const auto& [input, output] : feedback_.states) {
      const Value& declared = graph_.value(input);
      if (const auto own = sample.inputs.values().find(input); own != sample.inputs.values().end())
        state_[input] = with_batch_axis(declared, own->second);
      else if (const auto same = shared.find(input); same != shared.end())
        state_[input] = same->second;
      else
        state_[input] = zeros_for(declared);
    }
  }

  static RtValue with_batch_axis(const Value& input, const RtValue& item) {
    return is_whole(input, item.tensor().dim()) ? item : RtValue(item.tensor().unsqueeze(0), item.dtype());
  }

  void step() {
    Batch batch;
    batch.shared = data_.shared();
    for (const auto& [name, value] : state_) batch.shared[name] = value;
    NamedValues stacked;
    for (const auto& [name, value] : item_) stacked[name] = RtValue(value.tensor().unsqueeze(0), value.dtype());
    batch.inputs = stacked;
    const NamedValues found = executor_.run(bind_inputs(graph_, batch), outputs_);
    for (const auto& [input, output] : feedback_.states) state_[input] = found.at(output);
  }

  NamedValues as_items(const NamedValues& states) const {
    NamedValues items;
    for (const auto& [name, value] : states)
      items[name] =
          is_batched(graph_.value(name), graph_, feedback_) ? RtValue(value.tensor().squeeze(0), value.dtype()) : value;
    return items;
  }

  const Graph& graph_;
  const Dataset& data_;
  Feedback feedback_;
  Executor executor_;
  std::vector<std::string> outputs_;
  NamedValues item_, state_;  // an item's inputs; the states as the graph takes them
};

}  // namespace

std::unique_ptr<Dataset> with_feedback(const Graph& graph, const Dataset& data, bool skip_broken) {
  return std::make_unique<WithStates>(graph, data, StateRun(graph, data).run(skip_broken));
}

}  // namespace quench
