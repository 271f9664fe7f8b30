// How far integers are from their simulation, layer by layer, against the bound of docs/numerics.md 11: each layer
// alone on the simulation's codes, and the network as it runs.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <iomanip>
#include <iostream>

#include "convert/resnet20.h"
#include "ops/integer_form.h"
#include "quant/reference.h"
#include "quench/convert.h"
#include "quench/error.h"
#include "quench/executor.h"

namespace quench {
namespace {

constexpr double kUnit = 5.9604644775390625e-8;  // 2^-24: half an ulp of 1 in float32
constexpr std::int64_t kImages = 64;

using Codes = std::map<std::string, at::Tensor>;

at::Tensor magnitude(const at::Tensor& codes, const QType& type) {
  return dequantize_reference(codes, type).to(at::kDouble).abs();
}

// What is known of a layer of the converted graph.
struct LayerBound {
  double local = 0.0;  // the share that float32 sums can change in a layer alone: 2 E[delta]
  double whole = 0.0;  // the same in the network as it runs
};

class Bounds {
 public:
  Bounds(const Graph& graph, const Codes& codes) : codes_(codes) {
    for (const auto& node : graph.nodes()) add(*node);
  }
  const LayerBound& of(const std::string& value) const { return bounds_.at(value); }

 private:
  static double scale(const QType& type) { return static_cast<double>(type.params.scale[0]); }

  // (products + 2) roundings of the sum of magnitudes in float32, and three of the result, in steps.
  static double delta(const at::Tensor& magnitudes, double products, double step) {
    return (products + 2) * kUnit * magnitudes.mean().item<double>() / step + 3 * 255 * kUnit;
  }

  const at::Tensor& tensor(const Value& value) const {
    return value.is_constant() ? value.tensor() : codes_.at(value.name());
  }

  void product(const Node& node, const IntegerForm& form) {
    const at::Tensor x = magnitude(tensor(*node.input(0)), form.in[0]);
    const at::Tensor w = magnitude(tensor(*node.input(3)), form.in[1]);
    const double step = scale(form.y), products = static_cast<double>(w[0].numel());
    const std::vector<std::int64_t> strides = node.get_ints("strides", {1, 1});
    const at::Tensor sums = w.dim() == 2 ? at::mm(x, node.get_int("transB", 0) != 0 ? w.t() : w)
                                         : at::conv2d(x, w, {}, strides, node.get_ints("pads", {0, 0, 0, 0})[0]);
    // Of an input that differs by one step.
    const at::Tensor gains =
        (w.dim() == 2 && node.get_int("transB", 0) == 0 ? w.t() : w).flatten(1) * (scale(form.in[0]) / step);
    set(node, form, delta(sums, products, step),
        {{gains.sum(1).mean().item<double>(), gains.square().sum(1).mean().item<double>(),
          bounds_[node.input(0)->name()].whole}});
  }

  void sum(const Node& node, const IntegerForm& form) {
    const double step = scale(form.y);
    const at::Tensor a = magnitude(tensor(*node.input(0)), form.in[0]);
    const at::Tensor b = magnitude(tensor(*node.input(3)), form.in[1]);
    const double ra = scale(form.in[0]) / step, rb = scale(form.in[1]) / step;
    set(node, form, delta(a + b, 2, step),
        {{ra, ra * ra, bounds_[node.input(0)->name()].whole}, {rb, rb * rb, bounds_[node.input(3)->name()].whole}});
  }

  void mean(const Node& node, const IntegerForm& form) {
    const at::Tensor x = magnitude(tensor(*node.input(0)), form.in[0]);
    const auto count = static_cast<double>(x[0][0].numel());
    const double step = scale(form.y);
    const double ratio = scale(form.in[0]) / step;
    set(node, form, delta(x.mean({2, 3}), count, step),
        {{ratio, ratio * ratio / count, bounds_[node.input(0)->name()].whole}});
  }

  struct Operand {
    double gain, squares;  // sum of |g| and of g^2 over what one result is made of, in steps of the result
    double share;          // of its codes that differ
  };

  // A difference d before the rounding changes the code with probability |d|, and E|d| is at most the sum of all gains
  // times the share, and at most sqrt(E d^2), where differences of random signs add up in squares. What lies beyond the
  // bounds of the clip stays there.
  void set(const Node& node, const IntegerForm& form, double delta, const std::vector<Operand>& operands) {
    double sum = 0.0, squares = 0.0;
    for (const Operand& one : operands) sum += one.gain * one.share, squares += one.squares * one.share;
    const OutputCodes codes = output_codes(form.y, form.arithmetic, form.clip);
    const at::Tensor y = tensor(node.output()).to(at::kInt);
    const double inside = (y.gt(codes.low) & y.lt(codes.high)).to(at::kDouble).mean().item<double>();
    bounds_[node.output().name()] = {2 * delta, 2 * delta + inside * std::min(sum, std::sqrt(squares))};
  }

  void add(const Node& node) {
    const std::string op = float_op(node);
    if (op == "Conv" || op == "Gemm") return product(node, integer_form(node));
    if (op == "Add") return sum(node, integer_form(node));
    if (op == "GlobalAveragePool") return mean(node, integer_form(node));
    ASSERT_TRUE(op.empty()) << node.where();
    const bool moves = !is_integer_op(node);  // the same codes in other places
    bounds_[node.output().name()] = {0.0, moves ? bounds_[node.input(0)->name()].whole : 0.0};
  }

  const Codes& codes_;
  std::map<std::string, LayerBound> bounds_;
};

// The simulation's codes, under the names that the converted graph has.
Codes simulated_codes(const ResNet20& net, const Graph& converted) {
  std::vector<std::string> fetched;
  std::map<std::string, QType> types;
  for (const auto& node : converted.nodes()) {
    const std::string& name = node->output().name();
    if (!is_integer_op(*node) || node->op() == "quench.Dequantize") continue;
    types[name] = integer_form(*node).y;
    fetched.push_back(name);
  }
  Codes codes;
  Executor executor(net.model.graph);
  for (const auto& [name, value] : executor.run({{net.model.graph.inputs()[0]->name(), RtValue(net.images)}}, fetched))
    codes[name] = quantize_reference(value.tensor(), types.at(name));
  // What moves codes.
  NamedValues fed;
  for (const auto& [name, tensor] : codes) fed[name] = RtValue(tensor);
  std::vector<std::string> moved;
  for (const auto& node : converted.nodes())
    if (!is_integer_op(*node)) moved.push_back(node->output().name());
  for (const auto& [name, value] : Executor(converted).run(fed, moved)) codes[name] = value.tensor();
  return codes;
}

double share_of_different(const at::Tensor& a, const at::Tensor& b) {
  return a.to(at::kInt).ne(b.to(at::kInt)).to(at::kDouble).mean().item<double>();
}

void check(const ResNet20& net, const char* rule) {
  const QuantizedModel int8 = convert(net.model, {.requantize = rule});
  const Codes simulated = simulated_codes(net, int8.graph);
  const Bounds bounds(int8.graph, simulated);
  std::vector<std::string> names;
  for (const auto& node : int8.graph.nodes())
    if (!float_op(*node).empty()) names.push_back(node->output().name());
  const NamedValues whole = Executor(int8.graph).run({{int8.graph.inputs()[0]->name(), RtValue(net.images)}}, names);
  double largest = 0.0, largest_local = 0.0;
  Executor alone(int8.graph);
  std::cout << " " << rule << ": share of codes that differ, with its bound\n";
  for (const auto& node : int8.graph.nodes()) {
    if (float_op(*node).empty()) continue;
    const std::string& name = node->output().name();
    NamedValues fed;
    for (const int slot : integer_form(*node).slots)
      if (!node->input(slot)->is_constant())
        fed[node->input(slot)->name()] = RtValue(simulated.at(node->input(slot)->name()));
    const double local = share_of_different(alone.run(fed, {name}).at(name).tensor(), simulated.at(name));
    const double share = share_of_different(whole.at(name).tensor(), simulated.at(name));
    const LayerBound& bound = bounds.of(name);
    std::cout << "  " << std::left << std::setw(24) << name << " alone " << std::setw(12) << local << " ("
              << bound.local << "), in the network " << std::setw(12) << share << " (" << bound.whole << ")\n";
    EXPECT_LE(local, bound.local) << name;
    EXPECT_LE(share, bound.whole) << name;
    EXPECT_LT(bound.local, 0.05) << name << ": a bound that says nothing";
    EXPECT_LT(bound.whole, 1.0) << name << ": a bound that says nothing";
    largest = std::max(largest, share), largest_local = std::max(largest_local, local);
  }
  const double output = share_of_different(whole.at(names.back()).tensor(), simulated.at(names.back()));
  const auto top = [](const at::Tensor& codes) { return codes.to(at::kInt).argmax(1); };
  const std::int64_t equal =
      top(whole.at(names.back()).tensor()).eq(top(simulated.at(names.back()))).sum().item<std::int64_t>();
  std::cout << " " << rule << ": at most " << largest_local << " alone, " << largest << " in the network, " << output
            << " at the output; top-1 equal on " << equal << " of " << kImages << "\n";
  EXPECT_GE(equal, kImages - 2);
}

TEST(Agreement, OfResNet20StaysWithinItsBound) {
  const std::optional<ResNet20> net = calibrated_resnet20(kImages);
  if (!net) GTEST_SKIP() << "models/resnet20_cifar10_bn.onnx or cifar10/ is not in the data folder (QUENCH_DATA)";
  check(*net, "mlas");
  check(*net, "float");
}

}  // namespace
}  // namespace quench
