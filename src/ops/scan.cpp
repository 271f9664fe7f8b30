// Scan: a body over the slices of its inputs, with states carried along. Inputs: states, scanned, captures.
#include <ATen/ATen.h>

#include "graph/tensor_types.h"
#include "ops/body_types.h"
#include "ops/shape_rules.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

using Sizes = std::vector<std::int64_t>;

struct Layout {
  std::size_t states, scanned, results;
  Sizes input_axes, output_axes;
  std::vector<std::int64_t> input_backwards, output_backwards;
};

Layout layout_of(const Node& node, const Graph& body) {
  Layout layout;
  const std::int64_t scanned = node.require_int("num_scan_inputs");
  const auto own = static_cast<std::int64_t>(node.inputs().size()) - node.captures;
  QUENCH_CHECK(scanned > 0 && scanned <= own, node.where(), ": num_scan_inputs is ", scanned, ", the node has ", own,
               " inputs");
  layout.scanned = static_cast<std::size_t>(scanned);
  layout.states = static_cast<std::size_t>(own - scanned);
  QUENCH_CHECK(body.outputs().size() >= layout.states && body.inputs().size() == node.inputs().size(), node.where(),
               ": the body's inputs and outputs do not fit the node");
  layout.results = body.outputs().size() - layout.states;
  layout.input_axes = node.get_ints("scan_input_axes", Sizes(layout.scanned, 0));
  layout.output_axes = node.get_ints("scan_output_axes", Sizes(layout.results, 0));
  layout.input_backwards = node.get_ints("scan_input_directions", Sizes(layout.scanned, 0));
  layout.output_backwards = node.get_ints("scan_output_directions", Sizes(layout.results, 0));
  QUENCH_CHECK(layout.input_axes.size() == layout.scanned && layout.input_backwards.size() == layout.scanned &&
                   layout.output_axes.size() == layout.results && layout.output_backwards.size() == layout.results,
               node.where(), ": axes and directions must be as many as scanned inputs and outputs");
  return layout;
}

std::vector<RtValue> scan(const Node& node, const Inputs& in, ExecContext& context) {
  const Graph& body = node.require_graph("body");
  const Layout layout = layout_of(node, body);
  const std::int64_t turns = in[layout.states].tensor().size(layout.input_axes[0]);
  Inputs arguments = in;
  std::vector<std::vector<at::Tensor>> results(layout.results);
  std::vector<DType> dtypes(layout.results, DType::kUndefined);
  for (std::int64_t turn = 0; turn < turns; ++turn) {
    for (std::size_t i = 0; i < layout.scanned; ++i) {
      const RtValue& whole = in[layout.states + i];
      const std::int64_t at = layout.input_backwards[i] != 0 ? turns - 1 - turn : turn;
      arguments[layout.states + i] = RtValue(whole.tensor().select(layout.input_axes[i], at), whole.dtype());
    }
    const std::vector<RtValue> made = context.run_body(body, arguments);
    for (std::size_t i = 0; i < layout.states; ++i) arguments[i] = made[i];
    for (std::size_t i = 0; i < layout.results; ++i) {
      results[i].push_back(made[layout.states + i].tensor());
      dtypes[i] = made[layout.states + i].dtype();
    }
  }
  std::vector<RtValue> outputs(arguments.begin(), arguments.begin() + static_cast<std::ptrdiff_t>(layout.states));
  for (std::size_t i = 0; i < layout.results; ++i) {
    QUENCH_CHECK(turns > 0, "cannot scan an empty axis: the shape of the results is not known");
    if (layout.output_backwards[i] != 0) std::reverse(results[i].begin(), results[i].end());
    outputs.emplace_back(at::stack(results[i], layout.output_axes[i]), dtypes[i]);
  }
  return outputs;
}

void scan_shape(Node& node) {
  Graph& body = body_of(node, "body");
  const Layout layout = layout_of(node, body);
  set_capture_types(node, body);
  Dim turns;
  for (std::size_t i = 0; i < layout.states + layout.scanned; ++i) {
    const Value* given = node.input(static_cast<int>(i));
    if (!given) continue;
    const bool is_state = i < layout.states;
    body.inputs()[i]->set_type(is_state ? given->type()
                                        : without_axis(given->type(), layout.input_axes[i - layout.states]));
    if (is_state || !given->has_rank()) continue;
    const int axis = normalize_axis(layout.input_axes[i - layout.states], given->rank(), node);
    if (!turns.is_number()) turns = given->dims()[static_cast<std::size_t>(axis)];
  }
  infer_shapes(body);
  for (std::size_t i = 0; i < node.outputs().size() && i < body.outputs().size(); ++i) {
    if (!node.outputs()[i]) continue;
    const TypeInfo& made = body.outputs()[i]->type();
    node.outputs()[i]->set_type(i < layout.states ? made
                                                  : with_axis(made, layout.output_axes[i - layout.states], turns));
    node.outputs()[i]->contents = std::nullopt;
  }
}

}  // namespace

QUENCH_REGISTER_OP("Scan", scan, scan_shape, {}, "a body over the slices of its inputs")

}  // namespace quench
