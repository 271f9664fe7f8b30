// Proves the quantization core in training: LSQ at 2-bit weights and activations on the embedded model, with
// quantizers placed by hand (first and last layer at 8 bits, as the paper has it), wins back most of what min-max
// loses; and a run that is saved and reloaded half-way ends with the same bits.
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>

#include "data/files.h"
#include "e2e/demo_model.h"
#include "graph/tensor_types.h"
#include "quench/export.h"
#include "quench/fake_quant.h"
#include "quench/quantizers.h"
#include "quench/state_dict.h"

namespace quench {
namespace {

constexpr int kSteps = 300, kBatch = 32;

FakeQuantSpec spec(const char* algorithm, const std::string& scheme, Role role) {
  FakeQuantSpec result;
  result.algorithm = algorithm;
  result.scheme = QScheme::parse(scheme);
  result.role = role;
  return result;
}

std::vector<std::pair<std::string, FakeQuantSpec>> places(const Graph& graph, const char* algorithm) {
  std::vector<std::pair<std::string, FakeQuantSpec>> result;
  result.emplace_back("input", spec(algorithm, "int8 symmetric tensor", Role::kActivation));
  for (const auto& node : graph.nodes()) {
    const bool edge = node->name() == "stem.0" || node->op() == "Gemm";
    if (node->op() == "Conv" || node->op() == "Gemm")
      result.emplace_back(node->input(1)->name(),
                          spec(algorithm, concat(edge ? "int8" : "int2", " symmetric channel:0"), Role::kWeight));
    if (node->op() == "Relu")
      result.emplace_back(node->output().name(), spec(algorithm, "uint2 symmetric tensor", Role::kActivation));
  }
  return result;
}

// Quantizers everywhere, calibrated by `observer` on the images.
Graph quantized(const char* algorithm, const char* observer, const Images& images) {
  Graph graph = demo_graph();
  std::vector<Node*> nodes;
  for (const auto& [value, given] : places(graph, algorithm))
    nodes.push_back(&insert_fake_quant(graph, graph.value(value), given, {.observe = true}));
  std::vector<std::unique_ptr<Observer>> observers;
  Executor executor(graph);
  for (const Node* node : nodes) {
    observers.push_back(make_observer(observer, fake_quant_spec(*node).scheme));
    executor.set_observer(node->name(), observers.back().get());
  }
  logits_of(executor, images.pixels);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    set_qparams(*nodes[i], observers[i]->qparams());
    set_fake_quant_flags(*nodes[i], {.quantize = true});
  }
  return graph;
}

// Adam, plainly; its state is part of what is saved.
struct Adam {
  std::vector<at::Tensor> first, second;
  int step = 0;

  void save(const std::string& path) const {
    TensorMap state{{"step", at::tensor({std::int64_t{step}})}};
    for (std::size_t i = 0; i < first.size(); ++i) {
      state[concat("first.", i)] = first[i];
      state[concat("second.", i)] = second[i];
    }
    write_safetensors(path, state);
  }
  void load(const std::string& path) {
    const TensorMap state = read_safetensors(path);
    step = state.at("step").item<int>();
    for (std::size_t i = 0; state.contains(concat("first.", i)); ++i) {
      first.push_back(state.at(concat("first.", i)));
      second.push_back(state.at(concat("second.", i)));
    }
  }

  void update(const std::vector<Value*>& parameters) {
    const c10::NoGradGuard no_grad;
    ++step;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const at::Tensor parameter = parameters[i]->tensor(), gradient = parameter.grad();
      if (first.size() == i) first.push_back(at::zeros_like(parameter)), second.push_back(at::zeros_like(parameter));
      first[i].mul_(0.9).add_(gradient, 0.1);
      second[i].mul_(0.999).addcmul_(gradient, gradient, 0.001);
      const at::Tensor denominator = (second[i] / (1 - std::pow(0.999, step))).sqrt_().add_(1e-8);
      parameter.addcdiv_(first[i], denominator, -1e-3 / (1 - std::pow(0.9, step)));
      parameter.mutable_grad() = at::Tensor();
    }
  }
};

// Steps [begin, end) towards the float model's answers.
void train(const Graph& graph, Adam& adam, const Images& images, int begin, int end) {
  const Graph teacher_graph = demo_graph();
  Executor teacher(teacher_graph);
  const std::vector<Value*> parameters = graph.parameters();
  for (const Value* parameter : parameters) parameter->tensor().requires_grad_();
  ExecOptions options;
  options.grad = true;
  Executor executor(graph, options);
  for (int step = begin; step < end; ++step) {
    const at::Tensor pixels = images.pixels.narrow(0, step * kBatch % (images.pixels.size(0) - kBatch), kBatch);
    const at::Tensor wanted = at::softmax(logits_of(teacher, pixels), 1);
    const at::Tensor loss = -(wanted * at::log_softmax(logits_of(executor, pixels), 1)).sum(1).mean();
    loss.backward();
    adam.update(parameters);
  }
}

TEST(LsqTraining, RegainsWhatMinMaxLosesAndResumesToTheBit) {
  const Images learn = demo_images(0, 500), judge = demo_images(500, 500);
  const double whole = accuracy(demo_graph(), judge);
  const double lost = accuracy(quantized("fixed", "min_max", learn), judge);
  // Through a file first: folded weights are nobody's parameters until a reader marks them as what trains.
  const Graph graph = import_onnx_bytes(export_onnx_bytes(quantized("lsq", "lsq", learn)));
  const double before = accuracy(graph, judge);
  Adam adam;
  train(graph, adam, learn, 0, kSteps / 2);

  const TempFolder folder;
  const std::string saved = export_onnx_bytes(graph);
  adam.save(folder.path("adam.safetensors"));

  train(graph, adam, learn, kSteps / 2, kSteps);
  const double regained = accuracy(graph, judge);
  std::cout << "float " << whole << ", W2A2 min-max " << lost << ", LSQ before training " << before << ", after "
            << kSteps << " steps " << regained << "\n";
  EXPECT_LT(lost, whole - 0.1);  // else there is nothing to regain
  EXPECT_GE(regained, lost + (whole - lost) / 2);

  const Graph resumed = import_onnx_bytes(saved);
  Adam resumed_adam;
  resumed_adam.load(folder.path("adam.safetensors"));
  train(resumed, resumed_adam, learn, kSteps / 2, kSteps);
  ASSERT_EQ(resumed.parameters().size(), graph.parameters().size());
  for (const Value* parameter : graph.parameters()) {
    EXPECT_TRUE(bit_equal(parameter->tensor(), resumed.value(parameter->name()).tensor())) << parameter->name();
  }
}

}  // namespace
}  // namespace quench
