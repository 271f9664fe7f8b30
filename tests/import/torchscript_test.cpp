// import_torchscript on programs that are scripted and saved here, and its errors. Networks that PyTorch has written
// are in tests/e2e/torchscript_zoo_test.cpp.
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <caffe2/serialize/inline_container.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "import/torchscript_files.h"
#include "quench/error.h"
#include "quench/import.h"

namespace quench {
namespace {

namespace jit = torch::jit;

const char* const kConvNet = R"(
def forward(self, image):
  x = image
  for i in range(2):
    x = torch.relu_(torch.conv2d(x, self.conv.weight, self.conv.bias, [1, 1], [1, 1]))
  if self.training:
    x = torch.mul(x, 100.)
  if x.size(1) == 3:
    x = torch.batch_norm(x, self.norm.weight, self.norm.bias, self.norm.running_mean, self.norm.running_var, self.training, 0.1, 0.00001, False)
  x = x.view([x.size(0), -1])
  return torch.linear(x, self.head, None)
)";

jit::Module conv_net() {
  at::manual_seed(3);
  jit::Module conv("__torch__.Conv"), norm("__torch__.Norm"), net("__torch__.Net");
  conv.register_parameter("weight", at::randn({3, 3, 3, 3}), false);
  conv.register_parameter("bias", at::randn({3}), false);
  norm.register_parameter("weight", at::rand({3}) + 0.5, false);
  norm.register_parameter("bias", at::randn({3}), false);
  norm.register_buffer("running_mean", at::randn({3}));
  norm.register_buffer("running_var", at::rand({3}) + 0.5);
  net.register_attribute("training", c10::BoolType::get(), true);
  net.register_module("conv", conv);
  net.register_module("norm", norm);
  net.register_parameter("head", at::randn({5, 75}), false);
  net.define(kConvNet);
  return net;
}

TEST(TorchScript, AScriptedNetworkGivesWhatItGaveBefore) {
  const TempFolder folder;
  jit::Module net = conv_net();
  const std::string path = saved(folder, net);
  const Graph graph = import_model(path, shapes({{1, 3, 5, 5}}));
  EXPECT_EQ(graph.source.format, "torchscript");
  EXPECT_EQ(graph.inputs()[0]->name(), "image");
  EXPECT_EQ(graph.inputs()[0]->type().text(), "float[N, 3, 5, 5]");
  for (const char* name : {"conv.weight", "conv.bias", "norm.running_var", "head"})
    EXPECT_TRUE(graph.find_value(name)) << name;
  ASSERT_TRUE(graph.find_node("norm"));
  EXPECT_EQ(graph.find_node("norm")->op(), "BatchNormalization");
  net.eval();
  const at::Tensor image = at::randn({7, 3, 5, 5});  // a batch size that was not traced
  const at::Tensor expected = net.forward({image}).toTensor();
  // 4 layers of at most 75 products each: as many roundings of values of the result's size.
  const double tolerance = 4 * 75 * 0x1p-24 * expected.abs().max().item<double>();
  EXPECT_TRUE(at::allclose(outputs_of(graph, {image})[0].tensor(), expected, 0.0, tolerance));
}

// torch.jit.trace computes sizes in tensors without dims.
TEST(TorchScript, SizesOfATraceStaySizes) {
  const TempFolder folder;
  const std::string path = saved(folder, program(R"(
def forward(self, x):
  batch = prim.NumToTensor(torch.size(x, 0))
  half = torch.floor_divide(prim.NumToTensor(torch.size(x, 1)), torch.tensor(2))
  y = torch.view(x, [int(batch), 2, int(half)])
  return torch.reshape(torch.transpose(y, 1, 2), [int(batch), int(torch.mul(half, torch.tensor(2)))])
)"));
  const Graph graph = import_model(path, shapes({{1, 6}}));
  const at::Tensor x = at::arange(24).to(at::kFloat).view({4, 6});
  EXPECT_TRUE(outputs_of(graph, {x})[0].tensor().equal(x.view({4, 2, 3}).transpose(1, 2).reshape({4, 6})));
}

// As in a trace that was made without gradients.
TEST(TorchScript, FusedAttentionAndEncoderLayers) {
  at::manual_seed(9);
  jit::Module net("__torch__.Net");
  const auto add = [&](const char* name, const std::vector<std::int64_t>& sizes) {
    net.register_parameter(name, at::randn(sizes) * 0.3, true);
  };
  add("qkv_w", {24, 8});
  add("qkv_b", {24});
  add("proj_w", {8, 8});
  for (const char* name : {"proj_b", "norm_w1", "norm_b1", "norm_w2", "norm_b2", "out_b"}) add(name, {8});
  add("in_w", {12, 8});
  add("in_b", {12});
  add("out_w", {8, 12});
  net.register_attribute("training", c10::BoolType::get(), true);
  net.define(R"(
def forward(self, x):
  a = torch._native_multi_head_attention(x, x, x, 8, 2, self.qkv_w, self.qkv_b, self.proj_w, self.proj_b, None, False)[0]
  for gelu, first in [(True, False), (False, True)]:
    a = torch._transformer_encoder_layer_fwd(a, 8, 2, self.qkv_w, self.qkv_b, self.proj_w, self.proj_b, gelu, first, 1e-5,
        self.norm_w1, self.norm_b1, self.norm_w2, self.norm_b2, self.in_w, self.in_b, self.out_w, self.out_b)
  return a
)");
  const TempFolder folder;
  const Graph graph = import_model(saved(folder, net), shapes({{2, 5, 8}}));
  const c10::AutoGradMode no_grad(false);
  net.eval();
  const at::Tensor x = at::randn({3, 5, 8});
  const at::Tensor expected = net.forward({x}).toTensor();
  // 3 blocks of at most 6 sums of up to 12 products each, on values of the result's size.
  const double tolerance = 3 * 6 * 12 * 0x1p-24 * expected.abs().max().item<double>();
  EXPECT_TRUE(at::allclose(outputs_of(graph, {x})[0].tensor(), expected, 0.0, tolerance));
}

TEST(TorchScript, ResultsAreFlattenedAndNamed) {
  const TempFolder folder;
  std::string path = saved(folder, program("def forward(self, x, y):\n  return {'sum': x + y, 'product': x * y}\n"));
  const Graph named = import_model(path, shapes({{1, 4}, {1, 4}}));
  ASSERT_EQ(named.outputs().size(), 2U);
  EXPECT_EQ(named.outputs()[0]->name(), "sum");
  EXPECT_EQ(named.outputs()[1]->name(), "product");
  EXPECT_EQ(named.inputs()[1]->name(), "y");
  path = saved(folder, program("def forward(self, x):\n  return (x + 1, [x * 2, x * 3], None)\n"));
  EXPECT_EQ(import_model(path, shapes({{1, 4}})).outputs().size(), 3U);
}

TEST(TorchScript, TheInputsOfATraceAreInTheFile) {
  const TempFolder folder;
  jit::Module net = program("def forward(self, x):\n  return x + 1\n");
  net.store_traced_inputs("forward", {at::ones({2, 4}, at::kDouble)});
  const Graph graph = import_model(saved(folder, net));
  EXPECT_EQ(graph.inputs()[0]->type().text(), "double[N, 4]");
}

TEST(TorchScript, SaysWhichShapesItWants) {
  const jit::Module net = program("def forward(self, x, y):\n  return x + y\n");
  EXPECT_NE(refusal(net, {}).find("ImportOptions::inputs"), std::string::npos) << refusal(net, {});
  EXPECT_NE(refusal(net).find("takes 2 inputs; shapes were given for 1"), std::string::npos) << refusal(net);
  const jit::Module number = program("def forward(self, x, n: int):\n  return x + n\n");
  EXPECT_NE(refusal(number).find("the argument 'n' of the program is a int"), std::string::npos) << refusal(number);
}

TEST(TorchScript, RefusesOperatorsByName) {
  const std::string inverse = refusal(program("def forward(self, x):\n  return torch.linalg_pinv(x)\n"));
  EXPECT_NE(inverse.find("linalg_pinv"), std::string::npos) << inverse;
  const std::string writes = refusal(program("def forward(self, x):\n  torch.save(x, 'stolen')\n  return x\n"));
  EXPECT_NE(writes.find("'aten::save', which touches files"), std::string::npos) << writes;
  EXPECT_FALSE(std::ifstream("stolen"));
}

TEST(TorchScript, RefusesWhatRunsWhileItIsLoaded) {
  jit::Module net = program("def forward(self, x):\n  return x\n");
  net.define(R"(
def __getstate__(self):
  return self.training
def __setstate__(self, state: bool):
  self.training = state
)");
  EXPECT_NE(refusal(net).find("__setstate__"), std::string::npos) << refusal(net);
}

TEST(TorchScript, RefusesOtherFiles) {
  const TempFolder folder;
  const std::string text = folder.write("text.pt", "no zip at all");
  EXPECT_NE(error_of([&] { import_torchscript(text); }).find("not a TorchScript file"), std::string::npos);
  EXPECT_NE(error_of([&] { import_model(folder.path("none.pt")); }).find("cannot be opened"), std::string::npos);
  const std::string tensors = folder.path("state.pt");
  {
    caffe2::serialize::PyTorchStreamWriter writer(tensors);
    writer.writeRecord("data.pkl", "}.", 2);
    writer.writeEndOfFile();
  }
  const std::string message = error_of([&] { import_model(tensors); });
  EXPECT_NE(message.find("the file has no program"), std::string::npos) << message;
}

// Changed bytes give an error or a model, never a crash; the largest size a broken file may ask for is bounded.
TEST(TorchScript, SurvivesBrokenFiles) {
  const TempFolder folder;
  const std::string whole = [&] {
    std::ifstream file(saved(folder, conv_net()), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }();
  std::mt19937 random(11);
  int refused = 0;
  const int kFiles = 150;
  for (int i = 0; i < kFiles; ++i) {
    std::string broken = whole;
    if (i % 3 == 0) broken.resize(random() % whole.size());
    for (int change = 0; change < 8 && !broken.empty(); ++change)
      broken[random() % broken.size()] = static_cast<char>(random());
    const std::string path = folder.write("broken.pt", broken);
    try {
      import_model(path, shapes({{1, 3, 5, 5}}));
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, kFiles / 2);
}

}  // namespace
}  // namespace quench
