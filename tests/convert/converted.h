// Small calibrated models, for the tests of conversion.
#pragma once

#include <ATen/ATen.h>

#include "calibrate/small_graph.h"
#include "convert/ready.h"
#include "quench/calibrate.h"
#include "quench/convert.h"
#include "quench/executor.h"
#include "quench/prepare.h"

namespace quench {

inline QuantizedModel calibrated_model(const Graph& graph, const std::string& platform, const at::Tensor& items,
                                       QuantConfig config = {}) {
  QuantizedModel model = prepare_by_platform(graph, platform, std::move(config));
  calibrate(model, TensorData(items), {});
  return model;
}

inline QuantizedModel calibrated_small(const std::string& platform, QuantConfig config = {}) {
  return calibrated_model(small_graph(), platform, whole({8, 3, 8, 8}, 5, 9), std::move(config));
}

// The operators in order: "quench.Quantize quench.QConv ...".
inline std::string ops_of(const Graph& graph) {
  std::string text;
  for (const auto& node : graph.nodes()) text += (text.empty() ? "" : " ") + node->op();
  return text;
}

inline at::Tensor run_graph(const Graph& graph, const at::Tensor& x) {
  return Executor(graph).run({RtValue(x)}).at(0).tensor();
}

// y = f(x) between two quantizers, x in `from`, y in `to`.
struct Between {
  std::string from = "uint8 affine tensor", to = "uint8 affine tensor";
  template <typename Build>
  QuantizedModel operator()(Build&& build, const at::Tensor& x) const {
    Graph graph;
    TypeInfo type = RtValue(x).type();
    (*type.dims)[0] = Dim::symbol("N");
    Value& in = graph.add_input("x", type);
    Value& y = build(graph, in);
    graph.add_output(graph.add("Identity", "end", {&y}).output());
    run_passes(graph, {"infer_shapes"});
    QuantPlan plan;
    plan.entries = {plan_entry("x", from), plan_entry(y.name(), to)};
    QuantizedModel model = insert_quantizers(graph, plan);
    calibrate(model, TensorData(x), {});
    return model;
  }
};

}  // namespace quench
