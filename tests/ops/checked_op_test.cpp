// The runner of single operators that the other tests here share, and its own proof.
#include "ops/checked_op.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "quench/error.h"
#include "quench/executor.h"
#include "quench/op.h"

namespace quench {
namespace {

struct OneNode {
  Graph graph;
  std::vector<RtValue> feeds;
};

// Inputs that are read as numbers become constants, as they are in files.
OneNode one_node(const CheckedOp& run, const std::vector<RtValue>& inputs, bool symbolic) {
  const std::vector<int>& host = OpRegistry::instance().get(run.op).traits.host_slots;
  OneNode one;
  std::vector<Value*> values;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string name = "in" + std::to_string(i);
    if (inputs[i].is_none()) {
      values.push_back(nullptr);
    } else if (inputs[i].is_tensor() && std::count(host.begin(), host.end(), static_cast<int>(i)) > 0) {
      values.push_back(&one.graph.add_constant(name, inputs[i].tensor(), inputs[i].dtype()));
    } else {
      TypeInfo type = inputs[i].type();
      if (symbolic && i == 0 && type.dims && !type.dims->empty()) (*type.dims)[0] = Dim::symbol("N");
      values.push_back(&one.graph.add_input(name, type));
      one.feeds.push_back(inputs[i]);
    }
  }
  Node& node = one.graph.add(run.op, "node", values, run.outputs);
  node.attrs = run.attrs;
  node.frozen = run.frozen;
  for (Value* output : node.outputs()) one.graph.add_output(*output);
  return one;
}

void expect_type(const Value& value, const RtValue& result) {
  if (!result.is_tensor() || !value.type().is_tensor()) return;
  EXPECT_TRUE(value.dtype() == DType::kUndefined || value.dtype() == result.dtype())
      << value.type().text() << " was inferred for " << result.type().text();
  if (!value.has_rank()) return;
  const auto sizes = result.tensor().sizes();
  bool fits = value.dims().size() == sizes.size();
  for (std::size_t i = 0; fits && i < sizes.size(); ++i)
    fits = !value.dims()[i].is_number() || value.dims()[i].number() == sizes[i];
  EXPECT_TRUE(fits) << value.type().text() << " was inferred for " << result.type().text();
}

}  // namespace

std::vector<RtValue> CheckedOp::operator()(const std::vector<RtValue>& inputs) const {
  OneNode one = one_node(*this, inputs, false);
  infer_shapes(one.graph);
  ExecOptions options;
  options.training = training;
  options.grad = grad;
  options.shares = shares;
  Executor executor(one.graph, options);
  std::vector<RtValue> results = executor.run(one.feeds);
  OneNode symbolic = one_node(*this, inputs, true);
  infer_shapes(symbolic.graph);
  for (std::size_t i = 0; i < results.size(); ++i) {
    expect_type(*one.graph.outputs()[i], results[i]);
    expect_type(*symbolic.graph.outputs()[i], results[i]);
  }
  return results;
}

at::Tensor CheckedOp::result(const std::vector<RtValue>& inputs) const { return (*this)(inputs)[0].tensor(); }

at::Tensor run_checked(const std::string& op, const std::vector<RtValue>& inputs, const Attrs& attrs) {
  return CheckedOp{op, attrs}.result(inputs);
}

double distance(const at::Tensor& a, const at::Tensor& b) {
  if (a.sizes() != b.sizes()) return std::numeric_limits<double>::infinity();
  if (a.numel() == 0) return 0.0;
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

double gradient_error(const CheckedOp& op, std::vector<RtValue> inputs, std::size_t slots) {
  CheckedOp with_grad = op;
  with_grad.grad = true;
  std::vector<at::Tensor> leaves, directions;
  std::vector<RtValue> above = inputs, below = inputs;
  constexpr double kStep = 1e-6;
  for (std::size_t i = 0; i < slots; ++i) {
    leaves.push_back(inputs[i].tensor().detach().clone().requires_grad_());
    directions.push_back(at::randn_like(leaves[i].detach()));
    inputs[i] = leaves[i];
    above[i] = leaves[i].detach() + directions[i] * kStep;
    below[i] = leaves[i].detach() - directions[i] * kStep;
  }
  const at::Tensor y = with_grad.result(inputs);
  const at::Tensor weight = at::randn_like(y.detach());
  y.backward(weight);
  double analytic = 0.0;
  for (std::size_t i = 0; i < slots; ++i) analytic += (leaves[i].grad() * directions[i]).sum().item<double>();
  const double numeric = ((op.result(above) - op.result(below)) * weight).sum().item<double>() / (2 * kStep);
  return std::abs(analytic - numeric) / std::max(1.0, std::abs(numeric));
}

std::string error_of(const CheckedOp& op, const std::vector<RtValue>& inputs) {
  try {
    op(inputs);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string inferred_type(const std::string& op, const std::vector<TypeInfo>& inputs, const Attrs& attrs) {
  Graph graph;
  std::vector<Value*> values;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    values.push_back(&graph.add_input("in" + std::to_string(i), inputs[i]));
  Node& node = graph.add(op, "node", values);
  node.attrs = attrs;
  infer_shapes(graph);
  return node.output().type().text();
}

namespace {

TEST(CheckedOp, MeasuresDistancesAndGradients) {
  const at::Tensor x = at::randn({3, 4}, at::kDouble);
  EXPECT_EQ(distance(x, x), 0.0);
  EXPECT_NEAR(distance(x, x + 2), 2.0, 1e-12);
  EXPECT_GT(distance(x, x.t()), 1e300);
  EXPECT_LT(gradient_error({"Tanh", {}}, {x}, 1), 1e-6);
  // Numbers so far apart that the difference quotient drowns: the check must not call that right.
  EXPECT_GT(gradient_error({"Relu", {}}, {x * 1e-7}, 1), 1e-6);
}

}  // namespace
}  // namespace quench
