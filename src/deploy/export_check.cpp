#include "deploy/export_check.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <stdexcept>

#include "convert/quantized.h"
#include "deploy/compare_outputs.h"
#include "deploy/quantizer_differences.h"
#include "deploy/sample_inputs.h"
#include "ops/integer_form.h"
#include "quench/error.h"
#include "quench/executor.h"
#include "quench/export.h"
#include "quench/import.h"
#include "quench/rt_value.h"

namespace quench {
namespace {

// Both run here, on the same quantizers: only a code near a tie may differ, and what it becomes on its way.
constexpr OutputBounds kBounds = {.mean = 0.25, .steps = 24.0, .share = 0.05, .largest = 64.0};
// Operators on codes requantize as their runtimes do.
constexpr OutputBounds kCodeBounds = {.mean = 1.0, .steps = 24.0, .share = 0.05, .largest = 64.0};

// How much of the average change by quantizing may be due to ties.
constexpr double kShareOfNoise = 0.25;

Graph read_back(const DeployFile& file) {
  return with_quantizers(import_onnx_bytes(export_onnx_bytes(file.model, {.opset = file.opset})));
}

// Tensors beyond the threshold go to a second file: nothing can be read back from memory then.
bool fits_memory(const Graph& graph) {
  std::int64_t bytes = 0;
  for (const Value* constant : graph.constants()) bytes += static_cast<std::int64_t>(constant->tensor().nbytes());
  return bytes <= ExportOptions().external_threshold;
}

bool has_op(const Graph& graph, bool (*wanted)(const Node&)) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [&](const auto& node) { return wanted(*node); });
}

bool computes_on_codes(const Node& node) {
  return node.op().starts_with("QLinear") || node.op().starts_with("com.microsoft.Q") || is_integer_op(node);
}

bool quantizes_activations(const Node& node) {
  return (is_quantizer(&node) && !node.input(0)->is_constant()) || node.op() == "QuantizeLinear";
}

// Ranges beside a model are for its target: the model itself holds only the quantized weights.
Graph weights_only(const Graph& ready) {
  Graph graph(ready);
  set_state(graph, Role::kActivation, {});
  return graph;
}

// What is read back must be what was written: if not, it is our bug.
template <typename... Parts>
void expect(bool holds, const Parts&... parts) {
  if (!holds) throw std::logic_error(concat(parts...));
}

class ExportCheck {
 public:
  ExportCheck(const Graph& ready, const Dataset* data)
      : ready_(ready), samples_(data ? first_inputs(ready, *data) : runnable_inputs(ready)) {}

  bool can_run() const { return !samples_.empty(); }

  void check(const DeployFile& file) const {
    Graph graph = read_back(file);
    const bool on_codes = has_op(graph, computes_on_codes);
    const bool stripped = !on_codes && !has_op(graph, quantizes_activations) && has_op(ready_, quantizes_activations);
    if (!on_codes && !stripped) check_quantizers(graph);
    align_quantizers(ready_, graph);
    check_outputs(stripped ? weights_only(ready_) : ready_, graph, on_codes ? kCodeBounds : kBounds);
  }

 private:
  void check_quantizers(const Graph& graph) const {
    const QuantizerComparison found = compare_quantizers(ready_, graph);
    if (found.differences.empty()) return;
    expect(false, found.differences.size(), " tensors are not as in the model: ", found.differences[0]);
  }

  void check_outputs(const Graph& model, const Graph& graph, const OutputBounds& bounds) const {
    expect(model.outputs().size() == graph.outputs().size(), "it has ", graph.outputs().size(), " outputs, the model ",
           model.outputs().size());
    const std::vector<OutputResult> found = compared(graph, model, bounds);
    const bool near = std::all_of(found.begin(), found.end(),
                                  [&](const OutputResult& one) { return is_within(one, bounds.mean, bounds.largest); });
    if (near) return;
    // Deep networks amplify the codes near ties. What that does is judged by what quantizing itself does.
    Graph plain(model);
    set_state(plain, std::nullopt, {});
    const std::vector<OutputResult> noise = compared(plain, model, bounds);
    for (std::size_t i = 0; i < found.size(); ++i)
      judge(found[i], std::max(bounds.mean, kShareOfNoise * noise[i].steps(noise[i].mean)), bounds.largest);
  }

  std::vector<OutputResult> compared(const Graph& graph, const Graph& model, const OutputBounds& bounds) const {
    std::vector<OutputComparison> outputs;
    std::vector<std::string> names;
    for (const Value* output : model.outputs()) {
      outputs.emplace_back(*output, Task::kNone);
      names.push_back(output->name());
    }
    Executor ours(model), theirs(graph);
    for (const NamedValues& inputs : samples_) {
      const NamedValues a = theirs.run(inputs, names), b = ours.run(inputs, names);
      for (std::size_t i = 0; i < names.size(); ++i)
        if (b.at(names[i]).is_tensor()) outputs[i].add(a.at(names[i]).tensor(), b.at(names[i]).tensor());
    }
    std::vector<OutputResult> results;
    for (const OutputComparison& output : outputs) results.push_back(output.result(bounds));
    return results;
  }

  // In a discrete output another class near a tie is not an error; the scores behind it are not visible.
  static bool is_within(const OutputResult& output, double mean, double largest) {
    return output.discrete || (output.steps(output.mean) <= mean && output.steps(output.largest) <= largest);
  }

  static void judge(const OutputResult& output, double mean, double largest) {
    expect(is_within(output, mean, largest), "the output '", output.name, "' is off by ", output.steps(output.mean),
           " steps on average and by ", output.steps(output.largest), " at most from that of the model; ", mean,
           " and ", largest, " are the bounds");
  }

  const Graph& ready_;
  std::vector<NamedValues> samples_;
};

}  // namespace

void check_export(const Graph& ready, const Dataset* data, Deployment& deployment) {
  const ExportCheck check(ready, data);
  if (!check.can_run())
    deployment.notes.push_back(
        "the files were not run against the model: the sizes of its inputs are not known (give data)");
  for (const DeployFile& file : deployment.files) {
    if (!file.is_model()) continue;
    if (fits_memory(file.model))
      with_context([&] { return concat("in ", file.name, ", read back and compared with the model"); },
                   [&] { check.check(file); });
    else
      deployment.notes.push_back(concat(file.name, " is too large to be read back and compared with the model"));
  }
}

}  // namespace quench
