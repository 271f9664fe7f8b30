// State dicts of converted networks into quantizable modules: every code, bias and scale of the file arrives.
#include "quench/load_quantized.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include "quench/convert.h"
#include "quench/zoo_net.h"
#include "support/expect_error.h"
#include "zoo/torch_bytes.h"

namespace quench {
namespace {

// Layers of small_cnn and the module whose scale the file has for what they write.
const std::vector<std::string>& layers() {
  static const std::vector<std::string> names = {"stem.0",
                                                 "down.0",
                                                 "block1.conv1",
                                                 "block1.conv2",
                                                 "separable1.depthwise",
                                                 "separable1.pointwise",
                                                 "block2.conv1",
                                                 "block2.conv2",
                                                 "separable2.depthwise",
                                                 "separable2.pointwise",
                                                 "fc"};
  return names;
}
// The quantizers of what modules without tensors write, by the module.
const std::map<std::string, std::string>& values_of_others() {
  static const std::map<std::string, std::string> values = {
      {"quant", "quant_stub"}, {"block1.add_relu", "block1.bn2.relu"}, {"block2.add_relu", "block2.bn2.relu"}};
  return values;
}

EagerModel small_cnn(const std::string& backend = "qnnpack") {
  const auto net = make_zoo_model("small_cnn", {.quantizable = true});
  net->eval();
  EagerModel model(net, {at::rand({1, 1, 28, 28})});
  QConfig qconfig = get_default_qconfig(backend);
  qconfig.activation.bits = 8;
  model.qconfig.set_global(qconfig);
  return fuse_modules(model, fusible_modules(*net));
}

// Random codes, biases and scales, different for every layer.
QuantizedState random_state(bool per_channel = false) {
  at::manual_seed(5);
  const auto net = make_zoo_model("small_cnn", {.quantizable = true});
  const TensorMap own = quench::state_of(*net);
  QuantizedState state;
  int number = 0;
  const auto next_output = [&number](bool relu) {
    ++number;
    return QParams{{0.01F * static_cast<float>(number)}, {relu ? 0 : number}};
  };
  state.outputs["quant"] = next_output(false);
  for (const std::string& layer : layers()) {
    const at::Tensor weight = own.at(layer + ".weight");
    state.tensors[layer + ".weight"] = at::randint(-127, 128, weight.sizes(), at::kInt).to(at::kChar);
    QuantizedState::Grid grid{{{}, {}}, per_channel ? 0 : -1};
    for (std::int64_t i = 0; i < (per_channel ? weight.size(0) : 1); ++i) {
      grid.params.scale.push_back(0.001F * static_cast<float>(number + i));
      grid.params.zero_point.push_back(0);
    }
    state.grids[layer + ".weight"] = grid;
    state.tensors[layer + ".bias"] = at::randn({weight.size(0)});
    state.outputs[layer] = next_output(!layer.ends_with("conv2") && layer != "fc");
  }
  state.outputs["block1.add_relu"] = next_output(true);
  state.outputs["block2.add_relu"] = next_output(true);
  return state;
}

std::string error_of(const QuantizedState& state, const std::string& backend = "qnnpack") {
  try {
    load_quantized_state(small_cnn(backend), state);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

void expect_error(const QuantizedState& state, const std::string& part) {
  const std::string text = error_of(state);
  EXPECT_NE(text.find(part), std::string::npos) << "the message is: " << text;
}

// What quantizes the output of a layer: on the layer's own node, or on its ReLU.
QParams output_params(const QuantizedModel& model, const std::string& weight) {
  const Node* layer = quantizer_of(model.graph, weight)->output().uses().at(0).node;
  const Node* next = layer->output().uses().at(0).node;
  if (next->op() == "Relu") next = next->output().uses().at(0).node;
  return qparams_of(*next);
}

TEST(LoadQuantized, EveryScaleAndBiasArrives) {
  const QuantizedState state = random_state();
  const QuantizedModel model = load_quantized_state(small_cnn(), state);
  EXPECT_EQ(model.stage, ModelStage::kCalibrated);
  for (const std::string& layer : layers()) {
    EXPECT_EQ(qparams_of(*quantizer_of(model.graph, layer + ".weight")), state.grids.at(layer + ".weight").params);
    EXPECT_EQ(output_params(model, layer + ".weight"), state.outputs.at(layer)) << layer;
    const Node* node = quantizer_of(model.graph, layer + ".weight")->output().uses().at(0).node;
    EXPECT_TRUE(at::equal(node->input(2)->tensor(), state.tensors.at(layer + ".bias"))) << layer;
  }
  for (const auto& [module, value] : values_of_others()) {
    const Node* quantizer = quantizer_of(model.graph, value);
    ASSERT_TRUE(quantizer) << value;
    EXPECT_EQ(qparams_of(*quantizer), state.outputs.at(module)) << module;
  }
}

int constants_equal_to(const Graph& graph, const at::Tensor& codes) {
  int count = 0;
  for (const Value* constant : graph.constants())
    count += constant->tensor().scalar_type() == at::kChar && at::equal(constant->tensor(), codes);
  return count;
}

TEST(LoadQuantized, ConvertGivesTheVeryCodes) {
  for (const bool per_channel : {false, true}) {
    const QuantizedState state = random_state(per_channel);
    const QuantizedModel converted =
        convert(load_quantized_state(small_cnn(per_channel ? "fbgemm" : "qnnpack"), state));
    for (const std::string& layer : layers())
      EXPECT_EQ(constants_equal_to(converted.graph, state.tensors.at(layer + ".weight")), 1) << layer;
  }
}

TEST(LoadQuantized, WhatDoesNotFitIsNamed) {
  QuantizedState state = random_state();
  state.grids.erase("block1.conv2.weight");
  expect_error(state, "the file has no quantized tensor 'block1.conv2.weight'");
  state = random_state();
  state.outputs.erase("block2.add_relu");
  expect_error(state, "which 'block2.add_relu' writes");
  state = random_state();
  state.outputs["head"] = {{1.0F}, {0}};
  expect_error(state, "the file has a scale for 'head', which the model does not quantize");
  state = random_state();
  state.tensors["aux.weight"] = at::zeros({1});
  expect_error(state, "the file has 'aux.weight', which belongs to no quantized layer");
  state = random_state();
  state.tensors["fc.weight"] = at::zeros({3, 128}, at::kChar);
  expect_error(state, "'fc.weight' has shape [3, 128] in the file");
  state = random_state();
  state.outputs["fc"].zero_point[0] = 256;
  expect_error(state, "a zero point is not a code of 'uint8 affine tensor'");
  state = random_state(/*per_channel=*/true);
  expect_error(state, "has scales per channel in the file, but is to be 'int8 symmetric tensor'; choose the qconfig");
}

// FloatFunctionals that a forward never calls have a scale in the file all the same.
TEST(LoadQuantized, AnUnusedFloatFunctionalIsNoError) {
  struct Spare : torch::nn::Module {
    Spare() { register_module("spare", std::make_shared<FloatFunctional>()); }
    at::Tensor forward(const at::Tensor& x) { return dequant_stub(quant->forward(x)); }
    std::shared_ptr<QuantStub> quant = register_module("quant", std::make_shared<QuantStub>());
  };
  const auto net = std::make_shared<Spare>();
  net->eval();
  EagerModel model(net, {at::rand({1, 2})});
  model.qconfig.set_global(get_default_qconfig("qnnpack"));
  QuantizedState state;
  state.outputs = {{"quant", {{0.5F}, {3}}}, {"spare", {{1.0F}, {0}}}};
  const QuantizedModel loaded = load_quantized_state(model, state);
  EXPECT_EQ(qparams_of(*quantizers_of(loaded.graph).at(0)), (QParams{{0.5F}, {3}}));
}

std::string file_of(const QuantizedState& state) {
  c10::Dict<std::string, at::Tensor> dict;
  for (const auto& [name, tensor] : state.tensors) {
    const auto grid = state.grids.find(name);
    dict.insert(name, grid == state.grids.end()
                          ? tensor
                          : at::_make_per_tensor_quantized_tensor(tensor, grid->second.params.scale[0], 0));
  }
  for (const auto& [module, params] : state.outputs) {
    dict.insert(module + ".scale", at::scalar_tensor(params.scale[0]));
    dict.insert(module + ".zero_point", at::scalar_tensor(params.zero_point[0], at::kLong));
  }
  const std::vector<char> bytes = torch::jit::pickle_save(dict);
  return {bytes.begin(), bytes.end()};
}

TEST(LoadQuantized, AZooModelFromAFile) {
  const QuantizedState state = random_state();
  const TempFile file(file_of(state));
  QuantizedModel model = make_quantized_model("small_cnn", file.path());
  const QuantizedModel expected = load_quantized_state(small_cnn(), state);
  EXPECT_EQ(model.plan.platform, "qnnpack");
  ASSERT_EQ(quantizers_of(model.graph).size(), quantizers_of(expected.graph).size());
  for (const Node* quantizer : quantizers_of(expected.graph))
    EXPECT_EQ(qparams_of(*quantizer_of(model.graph, quantizer->input(0)->name())), qparams_of(*quantizer));
  EXPECT_EQ(model.run({at::rand({2, 1, 28, 28})})[0].tensor().sizes(), at::IntArrayRef({2, 10}));
  EXPECT_ERROR(make_quantized_model("resnet20_cifar", file.path()), "the file has no quantized tensor",
               "while loading '" + file.path() + "' into 'resnet20_cifar'");
}

// A converted GoogLeNet with zeros for weights.
QuantizedState googlenet_state() {
  const auto net = make_zoo_model("googlenet", {.num_classes = 3, .quantizable = true});
  QuantizedState state;
  for (const auto& [name, tensor] : quench::state_of(*net)) {
    if (tensor.dim() < 2) continue;
    state.tensors[name] = at::zeros(tensor.sizes(), at::kChar);
    state.grids[name] = {{{0.1F}, {0}}};
    state.outputs[name.substr(0, name.rfind('.'))] = {{0.1F}, {0}};
  }
  for (const auto& item : net->named_modules())
    if (item.value()->as<FloatFunctional>() || item.value()->as<QuantStub>()) state.outputs[item.key()] = {{0.1F}, {0}};
  return state;
}

TEST(LoadQuantized, GoogLeNetIgnoresItsAuxiliaryClassifiers) {
  QuantizedState state = googlenet_state();
  state.tensors["aux1.fc2.weight"] = at::zeros({3, 8}, at::kChar);
  state.grids["aux1.fc2.weight"] = {{{0.1F}, {0}}};
  state.outputs["aux1.fc2"] = {{0.1F}, {0}};
  const TempFile file(file_of(state));
  const QuantizedModel model = make_quantized_model("googlenet", file.path(), "qnnpack", {.num_classes = 3});
  EXPECT_EQ(qparams_of(*quantizer_of(model.graph, "fc.weight")), (QParams{{0.1F}, {0}}));
}

TEST(LoadQuantized, WithoutAFileTheModelIsCalibratedOnNoise) {
  const QuantizedModel model = make_quantized_model("small_cnn", "", "fbgemm", {.num_classes = 4, .seed = 9});
  EXPECT_NO_THROW(verify(model, ModelStage::kCalibrated));
  EXPECT_EQ(model.plan.platform, "fbgemm");
  const PlanEntry* first = model.plan.find("quant_stub");
  ASSERT_TRUE(first);
  EXPECT_EQ(first->observer, "min_max");
  EXPECT_EQ(first->scheme.text(), "uint7 affine tensor");
}

}  // namespace
}  // namespace quench
