// import_module: traces, makes the graph, and compares it with the module.
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <limits>

#include "import/aten/graph.h"
#include "import/trace/graph.h"
#include "import/trace/inputs.h"
#include "import/trace/state.h"
#include "quench/error.h"
#include "quench/executor.h"
#include "quench/op.h"
#include "quench/torch.h"

namespace quench {
namespace {

std::vector<std::string> names_of_inputs(std::size_t count, const std::vector<std::string>& given) {
  QUENCH_CHECK(given.empty() || given.size() == count, "input_names has ", given.size(), " names for ", count,
               " inputs");
  if (!given.empty()) return given;
  if (count == 1) return {"input"};
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(concat("input_", i));
  return names;
}

ModuleRecord record_module(const ModuleState& state, const ModuleForward& forward, const ModuleInputs& inputs) {
  ModuleRecord record;
  record.state = state.tensors();
  record.inputs = inputs.types();
  std::vector<at::Tensor> tensors;
  for (const StateTensor& own : record.state) tensors.push_back(*own.tensor.tensor);
  for (int i = 0; i < ModuleInputs::kTraces; ++i) {
    const bool last = i + 1 == ModuleInputs::kTraces;
    // The last one on other data too.
    record.traces.push_back(record_trace(forward, last ? inputs.random(i, false) : inputs.repeated(i), tensors));
    if (i > 0) check_alike(record.traces[0], record.traces.back(), last ? "other inputs" : "another batch size");
  }
  return record;
}

void name_outputs(Graph& graph, const std::vector<std::string>& names) {
  if (names.empty()) return;
  QUENCH_CHECK(names.size() == graph.outputs().size(), "output_names has ", names.size(), " names for ",
               graph.outputs().size(), " outputs");
  for (std::size_t i = 0; i < names.size(); ++i) graph.rename(*graph.outputs()[i], names[i]);
}

// Every node rounds once or a few times, relative to values of the result's size: the two may differ by
// this many units in the last place.
double tolerance_of(const Graph& graph, const at::Tensor& expected) {
  if (!expected.is_floating_point() || expected.numel() == 0) return 0.0;
  const at::Tensor finite = at::nan_to_num(expected.to(at::kDouble), 0.0, 0.0, 0.0).abs();
  const at::ScalarType type = expected.scalar_type();
  const double epsilon = type == at::kDouble     ? std::numeric_limits<double>::epsilon()
                         : type == at::kHalf     ? 0x1p-10
                         : type == at::kBFloat16 ? 0x1p-7
                                                 : std::numeric_limits<float>::epsilon();
  return 16.0 * epsilon * static_cast<double>(graph.nodes().size() + 1) * finite.max().item<double>();
}

void compare(const Graph& graph, const at::Tensor& expected, const at::Tensor& actual, std::size_t output) {
  QUENCH_CHECK(expected.sizes() == actual.sizes() && expected.scalar_type() == actual.scalar_type(), "output ", output,
               " of the module is ", RtValue(expected).type().text(), ", the graph's is ",
               RtValue(actual).type().text());
  const double tolerance = tolerance_of(graph, expected);
  const at::Tensor left = expected.to(at::kDouble), right = actual.to(at::kDouble);
  if (left.numel() == 0 || at::allclose(left, right, 0.0, tolerance, /*equal_nan=*/true)) return;
  const double worst = at::nan_to_num((left - right).abs(), INFINITY).max().item<double>();
  fail("graph and module differ by ", worst, " in output ", output, " (tolerated: ", tolerance,
       "): the module does something that a trace cannot see, such as control flow that depends on data");
}

std::vector<at::Tensor> copies_of(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> copies;
  for (const at::Tensor& tensor : tensors) copies.push_back(tensor.clone());
  return copies;
}

// With `elements` their shapes may differ.
void check_results(Executor& executor, const std::vector<at::Tensor>& given, const std::vector<at::Tensor>& expected,
                   bool elements) {
  const std::vector<RtValue> actual = executor.run({given.begin(), given.end()});
  QUENCH_CHECK(expected.size() == actual.size(), "the module gives ", expected.size(), " outputs, the graph ",
               actual.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const at::Tensor& result = actual[i].tensor();
    const bool reshaped = elements && result.numel() == expected[i].numel();
    compare(executor.graph(), expected[i], reshaped ? result.reshape(expected[i].sizes()) : result, i);
  }
}

// No trace was that small: what the module decides by a size may differ here. It need not run at all, and dims of 1
// that x.squeeze() removes along with the others are still there in the graph.
void check_smallest(Executor& executor, const ModuleForward& forward, const std::vector<at::Tensor>& given) {
  std::vector<at::Tensor> expected;
  try {
    if (!given.empty()) expected = forward(copies_of(given));
  } catch (const std::exception&) {
    return;
  }
  if (!given.empty())
    with_context([] { return "where the free dims of the inputs are 1 (give examples of that size)"; },
                 [&] { check_results(executor, given, expected, /*elements=*/true); });
}

void check_against_module(const Graph& graph, const ModuleForward& forward, const ModuleInputs& inputs) {
  ExecOptions options;
  options.device = inputs.repeated(0)[0].device().str();
  Executor executor(graph, options);
  for (const bool mirrored : {false, true}) {
    const std::vector<at::Tensor> given = inputs.random(ModuleInputs::kTraces, mirrored);
    // The module first: what terminates there does so in the graph. It may write into its inputs.
    const std::vector<at::Tensor> expected = forward(copies_of(given));
    check_results(executor, given, expected, /*elements=*/false);
  }
  check_smallest(executor, forward, inputs.smallest());
}

}  // namespace

Graph import_module(torch::nn::Module& module, const ModuleForward& forward,
                    const std::vector<at::Tensor>& example_inputs, const ModuleImportOptions& options) {
  return with_context(
      [&] { return concat("while importing a module", options.name.empty() ? "" : " " + options.name); },
      [&] {
        const c10::AutoGradMode no_grad(false);
        const ModuleInputs inputs(example_inputs, options);
        const ModuleState state(module);
        ModuleRecord record = record_module(state, forward, inputs);
        record.input_names = names_of_inputs(example_inputs.size(), options.input_names);
        record.leaves = leaves_of(module);
        Graph graph = graph_of_traces(record);
        state.check_unchanged();
        remove_unused(graph);
        name_outputs(graph, options.output_names);
        graph.name = options.name;
        graph.source.format = "module";
        infer_shapes(graph);
        graph.verify();
        if (options.check) check_against_module(graph, forward, inputs);
        return graph;
      });
}

}  // namespace quench
