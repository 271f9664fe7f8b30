// Branches and loops of TorchScript programs: each program runs here and in LibTorch on inputs that take either side
// and different numbers of turns, also after it was written to ONNX and read again.
#include <chrono>
#include <iostream>

#include "import/torchscript_files.h"
#include "quench/export.h"

namespace quench {
namespace {

namespace jit = torch::jit;

int count(const Graph& graph, const std::string& op) {
  int found = 0;
  for (const auto& node : graph.nodes()) {
    found += node->op() == op ? 1 : 0;
    for (const auto& [key, attr] : node->attrs)
      if (const auto* body = std::get_if<GraphPtr>(&attr)) found += count(**body, op);
  }
  return found;
}

// Filled with one number each: sums and comparisons are exact, so that both take the same path and give the same.
std::vector<at::Tensor> filled(const std::vector<double>& numbers, std::int64_t rows = 2) {
  std::vector<at::Tensor> inputs;
  for (const double number : numbers) inputs.push_back(at::full({rows, 4}, number, at::kFloat));
  return inputs;
}

void expect_same(const Graph& graph, jit::Module& net, const at::Tensor& input) {
  const c10::IValue result = net.forward({input.clone()});
  std::vector<at::Tensor> expected;
  if (result.isTensor()) expected.push_back(result.toTensor());
  if (result.isTuple())
    for (const c10::IValue& element : result.toTupleRef().elements()) expected.push_back(element.toTensor());
  const std::vector<RtValue> actual = outputs_of(graph, {input});
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    EXPECT_EQ(actual[i].tensor().scalar_type(), expected[i].scalar_type());
    EXPECT_TRUE(actual[i].tensor().equal(expected[i]))
        << "output " << i << " of an input of " << input.flatten()[0].item<float>() << ":\n"
        << actual[i].tensor() << "\n"
        << expected[i];
  }
}

// Imports the program and compares. The graph is for what a test wants to know about it.
Graph expect_faithful(const std::string& code, const std::vector<at::Tensor>& inputs) {
  const TempFolder folder;
  jit::Module net = program(code);
  const Graph graph = import_model(saved(folder, net), shapes({{2, 4}}));
  net.eval();
  const Graph again = import_onnx_bytes(export_onnx_bytes(graph));
  for (const at::Tensor& input : inputs) {
    expect_same(graph, net, input);
    expect_same(again, net, input);
  }
  return graph;
}

TEST(TorchScriptControlFlow, BranchOnData) {
  const Graph graph = expect_faithful(R"(
def forward(self, x):
  if bool(x.sum() > 0):
    y = x + 1
  else:
    y = x * 2
  return y
)",
                                      filled({1, -1, 0}));
  EXPECT_EQ(count(graph, "If"), 1);
}

TEST(TorchScriptControlFlow, NestedBranchesAndOneWithoutElse) {
  const Graph nested = expect_faithful(R"(
def forward(self, x):
  y = x
  if x.sum() > 0:
    if x.max() > 2:
      y = x * 3
    else:
      y = x * 5
  return y + x
)",
                                       filled({1, 3, -1}));
  EXPECT_EQ(count(nested, "If"), 2);
  expect_faithful(R"(
def forward(self, x):
  y = x + 1
  z = x + 2
  if x.sum() > 0:
    z = y * 2
  return y, z
)",
                  filled({1, -1}));
}

TEST(TorchScriptControlFlow, EarlyReturns) {
  const Graph graph = expect_faithful(R"(
def forward(self, x):
  if bool(x.sum() > 8):
    return x + 1
  y = x * 2
  if bool(y.sum() < 0):
    return y - 1
  return y + 10
)",
                                      filled({2, -1, 0.5}));
  EXPECT_GE(count(graph, "If"), 2);
  expect_faithful(R"(
def forward(self, x):
  if bool(x.sum() > 8):
    return x + 1, x
  return x - 1, x * 2
)",
                  filled({2, -1}));
}

TEST(TorchScriptControlFlow, WhileLoopOnData) {
  const Graph graph = expect_faithful(R"(
def forward(self, x):
  y = x
  n = 0
  while bool(y.sum() < 100):
    y = y * 2 + 1
    n = n + 1
  return y, y * n
)",
                                      filled({0, 1, 7, 50, 1000}));
  EXPECT_EQ(count(graph, "Loop"), 1);
}

TEST(TorchScriptControlFlow, ForLoopOverANumberFromData) {
  const Graph graph = expect_faithful(R"(
def forward(self, x):
  total = torch.zeros_like(x)
  weight = 0.5
  for i in range(int(x.max())):
    total += x * i
    weight = weight * 2.0
  return total * weight
)",
                                      filled({0, 1, 2, 5, -3}));
  EXPECT_EQ(count(graph, "Loop"), 1);
}

TEST(TorchScriptControlFlow, ForLoopOverTheBatch) {
  const Graph graph = expect_faithful(R"(
def forward(self, x):
  total = torch.zeros([4])
  for i in range(x.size(0)):
    total = total + x[i] * (i + 1)
  return total
)",
                                      {at::ones({1, 4}), at::arange(12).to(at::kFloat).view({3, 4}), at::ones({5, 4})});
  EXPECT_EQ(count(graph, "Loop"), 1);
}

// The traces take batches of 2, 4 and 6: the first branch differs between them, the others between them and a batch
// of 1.
TEST(TorchScriptControlFlow, WhatHangsOnTheBatchSize) {
  const std::vector<at::Tensor> batches = {at::ones({1, 4}), at::ones({2, 4}), at::ones({3, 4}), at::ones({7, 4})};
  const Graph branch = expect_faithful("def forward(self, x):\n  return x * 2 if x.size(0) > 3 else x\n", batches);
  EXPECT_EQ(count(branch, "If"), 1);
  const Graph one = expect_faithful("def forward(self, x):\n  return x * 2 if x.size(0) == 1 else x\n", batches);
  EXPECT_EQ(count(one, "If"), 1);
  const Graph early = expect_faithful(R"(
def forward(self, x):
  y = x
  for i in range(x.size(0)):
    y = y * 2
    if bool(y.max() > 7):
      return -y
  return y
)",
                                      batches);
  EXPECT_GE(count(early, "Loop"), 1);
  // 1 after two turns or more, 0 after one.
  expect_faithful(R"(
def forward(self, x):
  n = 2
  for i in range(x.size(0)):
    n = 1 - n // 2
  if bool(x.max() > 0):
    return x + n
  return x
)",
                  batches);
}

// The same in the traces' batches of 2, 4 and 6, and different in larger ones.
TEST(TorchScriptControlFlow, ArithmeticOnTheBatchSize) {
  std::vector<at::Tensor> batches;
  for (const std::int64_t rows : {1, 2, 3, 15, 16, 33, 100}) batches.push_back(at::ones({rows, 4}));
  const auto expect = [&](const std::string& body) {
    SCOPED_TRACE(body);
    EXPECT_NO_THROW(expect_faithful("def forward(self, x):\n" + body, batches));
  };
  expect("  return x * 2 if x.size(0) // 16 > 0 else x\n");
  expect("  return x * 2 if x.size(0) // 3 > 5 else x\n");
  expect("  return x * 2 if x.size(0) % 100 == 0 else x\n");
  expect("  return x * min(x.size(0), 2) + max(x.size(0), 20)\n");
  expect("  for i in range(min(x.size(0), 20)):\n    x = x + i\n  return x\n");
  expect("  for i in range(x.size(0) - 10):\n    x = x + i\n  return x\n");
  expect("  for i in range(0, x.size(0), 16):\n    x = x + i\n  return x\n");
  expect("  return x * 2 if abs(x.size(0) - 10) < 7 else x\n");
  expect("  return x * (x.size(0) // 2)\n");
  const std::string cut = refusal(program("def forward(self, x):\n  return x[:min(x.size(0), 64)]\n"));
  EXPECT_NE(cut.find("takes a number that depends on data as 'end'"), std::string::npos) << cut;
  for (const char* body : {"x.size(0) / 16.0 > 1.0", "int(x.size(0) / 16) > 0", "x.size(0) >> 4 > 0"})
    EXPECT_NE(refusal(program(concat("def forward(self, x):\n  return x * 2 if ", body, " else x\n"))), "") << body;
}

TEST(TorchScriptControlFlow, ForLoopOverAConstantIsUnrolled) {
  const Graph graph = expect_faithful(R"(
def forward(self, x):
  parts = [x]
  for i in range(3):
    if i != 1:
      parts.append(x * i)
  return torch.cat(parts, 1)
)",
                                      filled({1, 2}));
  EXPECT_EQ(count(graph, "Loop") + count(graph, "If"), 0);
}

TEST(TorchScriptControlFlow, BreakContinueAndReturnInLoops) {
  expect_faithful(R"(
def forward(self, x):
  y = x
  for i in range(6):
    y = y + 1
    if bool(y.sum() > 20):
      break
    y = y * 2
  return y
)",
                  filled({0, 1, 3, -100}));
  expect_faithful(R"(
def forward(self, x):
  y = x
  for i in range(5):
    if bool(y.sum() * (-1 if i == 2 else 1) > 0):
      continue
    y = y - i
  return y
)",
                  filled({0, 1, -1, 0.5}));
  expect_faithful(R"(
def forward(self, x):
  y = x
  while bool(y.sum() < 50):
    y = y * 2
    if bool(y.sum() < -50):
      return y * 100
    y = y + 1
  return y
)",
                  filled({0, 1, -2, 100}));
  expect_faithful(R"(
def forward(self, x):
  y = x
  while True:
    y = y + 1
    if bool(y.sum() > 10):
      break
  return y
)",
                  filled({0, -3, 100}));
}

TEST(TorchScriptControlFlow, NumbersFromData) {
  expect_faithful(R"(
def forward(self, x):
  n = int(x.max())
  half = n // 2
  part = float(n) / 4
  if n % 2 == 0 and not (n > 4):
    half = -half
  scaled = torch.tensor(part) + torch.full([4], half)
  return x[:, min(abs(half), 3)] * max(n, 1), scaled
)",
                  filled({0, 1, 2, 4, 5, 7}));
  expect_faithful("def forward(self, x):\n  return x * round(float(x.max()))\n", filled({0.5, 1.5, 2.5, -0.5, 1.25}));
}

TEST(TorchScriptControlFlow, InPlaceOperatorsInBranches) {
  expect_faithful(R"(
def forward(self, x):
  y = x + 1
  if bool(x.sum() > 0):
    y += 10
    z = x * 2
    z.mul_(3)
  else:
    z = y - 1
    z.relu_()
  return y, z
)",
                  filled({1, -1}));
  // The result of the branch is not assigned: what is read later is the tensor from before it.
  const std::string hidden = refusal(program(R"(
def forward(self, x):
  y = x + 1
  if bool(x.sum() > 0):
    y.add_(10)
  return y
)"));
  EXPECT_NE(hidden.find("in-place operator has changed"), std::string::npos) << hidden;
  const std::string next_turn = refusal(program(R"(
def forward(self, x):
  y = x * 1
  z = x * 2
  while bool(y.sum() < 100):
    y = y + z
    z.add_(1)
  return y
)"));
  EXPECT_NE(next_turn.find("the next turn of a loop"), std::string::npos) << next_turn;
}

TEST(TorchScriptControlFlow, LoopsAndBranchesInsideEachOther) {
  const Graph graph = expect_faithful(R"(
def forward(self, x):
  y = x
  turns = 0
  while bool(y.sum() < 60):
    for i in range(int(y.max()) + 1):
      y = y + i
      if bool(y.sum() > 30) and i > 1:
        break
    for k in range(2):
      y = y * (k + 1)
    if turns > 1:
      y = y + 5
      turns = turns + 1
    y = y + 1
    turns += 1
  return y, y * turns
)",
                                      filled({0, 1, 2, 3, -2, 9}));
  EXPECT_GE(count(graph, "Loop"), 2);
  expect_faithful(R"(
def forward(self, x):
  if bool(x.sum() > 0):
    y = x
    while bool(y.sum() < 100):
      y = y * 3
  else:
    y = -x if bool(x.min() < -2) else x * 4
  return y
)",
                  filled({1, 30, -1, -3}));
}

TEST(TorchScriptControlFlow, StatesOfLoops) {
  expect_faithful(R"(
def forward(self, x):
  pair = (x, 1)
  a = x
  b = x + 1
  rate = 1.5
  while rate < float(x.max()):
    pair = (pair[0] + a, pair[1] + 2)
    a, b = b, a
    rate = rate * 1.5
  return pair[0] * pair[1], a, b * rate
)",
                  filled({0, 1, 2, 4, 16}));
  // One state keeps its number, one is set in the loop alone.
  expect_faithful(R"(
def forward(self, x):
  y = x
  fixed = 3
  i = 0
  while i < int(x.max()):
    last = y * fixed
    y = y + last[:, i % 4].unsqueeze(1)
    i += 1
  return y * fixed
)",
                  filled({0, 1, 2, 6}));
  expect_faithful(R"(
def forward(self, x):
  total = torch.zeros([4])
  for row in x:
    if bool(row.sum() > 8):
      total = total - row
    else:
      total = total + row
  return total
)",
                  {at::ones({1, 4}), at::arange(12).to(at::kFloat).view({3, 4}), at::ones({5, 4})});
}

TEST(TorchScriptControlFlow, WeightsInBranchesKeepTheirNames) {
  jit::Module fc("__torch__.Fc"), net("__torch__.Net");
  at::manual_seed(5);
  fc.register_parameter("weight", at::randint(-3, 4, {40, 4}).to(at::kFloat), false);
  fc.register_parameter("bias", at::randint(-3, 4, {40}).to(at::kFloat), false);
  net.register_attribute("training", c10::BoolType::get(), true);
  net.register_module("fc", fc);
  net.define(R"(
def forward(self, x):
  y = x
  if bool(x.sum() > 0):
    z = torch.linear(x, self.fc.weight, self.fc.bias)
  else:
    z = torch.relu(torch.linear(y * 2, self.fc.weight, self.fc.bias))
  return z
)");
  const TempFolder folder;
  const Graph graph = import_model(saved(folder, net), shapes({{2, 4}}));
  ASSERT_TRUE(graph.find_value("fc.weight"));
  EXPECT_TRUE(graph.value("fc.weight").is_parameter());
  net.eval();
  const Graph again = import_onnx_bytes(export_onnx_bytes(graph));
  for (const at::Tensor& input : filled({1, -1}, 3)) {
    expect_same(graph, net, input);
    expect_same(again, net, input);
  }
}

TEST(TorchScriptControlFlow, ChecksOfTheDataAreLeftOut) {
  const Graph graph = expect_faithful(R"(
def forward(self, x):
  assert not bool(torch.isnan(x).any()), "nan"
  return x + 1
)",
                                      filled({1, -1}));
  EXPECT_EQ(count(graph, "If"), 0);
}

TEST(TorchScriptControlFlow, WhatCannotBeAGraphIsRefusedByName) {
  const auto expect = [](const std::string& code, const std::string& part) {
    const std::string message = refusal(program(code));
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expect("def forward(self, x):\n  return x.view([int(x.max()) + 3, -1])\n", "goes into a list");
  expect("def forward(self, x):\n  return x.sum(dim=[0], keepdim=bool(x.max() > 0))\n",
         "takes a number that depends on data as 'keepdim'");
  expect("def forward(self, x):\n  return torch.add(x, x, alpha=int(x.max()))\n",
         "takes a number that depends on data as 'alpha'");
  expect("def forward(self, x):\n  return x.sum() + torch.arange(int(x.max()) + 3)\n",
         "takes a number that depends on data as 'end'");
  expect("def forward(self, x):\n  return x, int(x.max())\n", "returns a number");
  expect(R"(
def forward(self, x):
  if bool(x.sum() > 0):
    y = x
  else:
    y = x[:1]
  return y
)",
         "tensors of different shapes");
  expect(R"(
def forward(self, x):
  y = x
  while bool(y.sum() < 100):
    y = torch.cat([y, y], 1)
  return y
)",
         "changes the shape or type of a tensor");
  expect(R"(
def forward(self, x):
  parts = [x]
  if bool(x.sum() > 0):
    parts.append(x)
  return torch.cat(parts)
)",
         "changes a GenericList that was made outside");
  expect(R"(
def forward(self, x):
  mode = "sum"
  if bool(x.sum() > 0):
    mode = "mean"
  return x.sum() if mode == "sum" else x.mean()
)",
         "give a String and a String");
  expect(R"(
def forward(self, x):
  parts: List[Tensor] = []
  for i in range(x.size(0)):
    parts.append(x[i] * 2)
  return torch.stack(parts)
)",
         "changes a GenericList that was made outside");
  expect(R"(
def forward(self, x):
  y = x * 1
  flat = y.view([-1])
  if bool(x.sum() > 0):
    y += 1
  return flat
)",
         "in-place operator has changed");
  expect(R"(
def forward(self, x):
  n = torch.tensor(2)
  if bool(x.sum() > 0):
    n.add_(1)
  return x * int(n)
)",
         "a number is read from a tensor that was changed");
  expect("def forward(self, x):\n  first: List[float] = x[0].tolist()\n  return x * first[0]\n", "prim::tolist");
}

TEST(TorchScriptControlFlow, WritesThroughViewsAreSeen) {
  const auto expect = [](const std::string& code, const std::string& part) {
    const std::string message = refusal(program(code));
    EXPECT_NE(message.find(part), std::string::npos) << code << message;
  };
  const std::string read = "a number is read from a tensor that was changed";
  expect(R"(
def forward(self, x):
  y = torch.zeros([3])
  y[0] = x.sum()
  if bool(y[0] > 1000.):
    return x + 1.
  return x - 1.
)",
         read);
  expect(R"(
def forward(self, x):
  y = torch.zeros([1])
  flat = y.view([-1])
  y.add_(x.sum())
  return x * float(flat)
)",
         read);
  expect_faithful(R"(
def forward(self, x):
  y = torch.zeros([3])
  y[0] = 5.
  return x * 2 if bool(y[1] > 1.) else x
)",
                  filled({1}));
  for (const char* view : {"reshape(-1)", "flatten()", "contiguous().view(-1)", "swapaxes(0, 1)", "unfold(1, 1, 1)"})
    expect(concat("def forward(self, x):\n  y = x.clone()\n  v = y.", view,
                  "\n  z = y * 1.\n  if bool(x.sum() > 1000.):\n    v.add_(1.)\n    z = y * 1.\n  return z\n"),
           "in-place operator has changed");
}

double seconds_to_refuse(const std::string& code, const std::string& part) {
  const auto start = std::chrono::steady_clock::now();
  const std::string message = refusal(program(code));
  EXPECT_NE(message.find(part), std::string::npos) << message;
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Generous: a loaded machine is slow, an endless program takes for ever.
constexpr double kSeconds = 60;

TEST(TorchScriptControlFlow, ProgramsWithoutEndAreRefused) {
  const char* const kEndless = "has not finished after";
  const double numbers = seconds_to_refuse(R"(
def forward(self, x):
  n = 0
  while True:
    n = n + 1
    if n < 0:
      break
  return x * n
)",
                                           kEndless);
  const double empty = seconds_to_refuse("def forward(self, x):\n  while True:\n    pass\n  return x\n", kEndless);
  const double tensors =
      seconds_to_refuse("def forward(self, x):\n  while True:\n    x = x + 1\n  return x\n", kEndless);
  // A loop of the graph that data never ends: the program itself does not, on the inputs that it is checked with.
  const double data = seconds_to_refuse(
      "def forward(self, x):\n  while bool((x * x).sum() > -1):\n    x = x * 1\n  return x\n", kEndless);
  EXPECT_LT(std::max({numbers, empty, tensors, data}), kSeconds);
  std::cout << "refused after " << numbers << ", " << empty << ", " << tensors << ", " << data << " s\n";
}

// 32 GB in one; an outer product; and 1 GB again and again.
TEST(TorchScriptControlFlow, MemoryWithoutEndIsRefused) {
  const double one = seconds_to_refuse("def forward(self, x):\n  return x + torch.zeros([8589934592]).sum()\n",
                                       "makes a tensor of 34359738368 bytes");
  const double outer =
      seconds_to_refuse("def forward(self, x):\n  y = torch.ones([100000])\n  return x + (y.unsqueeze(1) * y).sum()\n",
                        "makes a tensor of 40000000000 bytes");
  const double again = seconds_to_refuse(
      "def forward(self, x):\n  for i in range(1000):\n    x = x + torch.empty([268435456])[0]\n  return x\n",
      "makes tensors of more than 68719476736 bytes in all");
  EXPECT_LT(std::max({one, outer, again}), kSeconds);
}

// Ten calls per function, twelve deep: 10^12 nodes once they are inlined.
TEST(TorchScriptControlFlow, CallsThatMultiplyAreRefused) {
  std::string code = "def forward(self, x):\n  return self.f12(x)\n";
  jit::Module net("__torch__.Net");
  net.register_attribute("training", c10::BoolType::get(), true);
  net.define("def f0(self, x):\n  return x + 1\n");
  for (int i = 1; i <= 12; ++i) {
    std::string function = concat("def f", i, "(self, x):\n");
    for (int call = 0; call < 10; ++call) function += concat("  x = self.f", i - 1, "(x)\n");
    net.define(function + "  return x\n");
  }
  net.define(code);
  const std::string message = refusal(net);
  EXPECT_NE(message.find("nodes with its calls inlined"), std::string::npos) << message;
}

}  // namespace
}  // namespace quench
