// Random TorchScript programs of branches, loops, numbers, views and in-place changes: the graph of each gives what
// LibTorch gives, bit for bit, or the program is refused. All of it is exact: elementwise operators, and the largest
// element for decisions.
#include <iomanip>
#include <iostream>
#include <map>
#include <random>

#include "import/torchscript_files.h"

namespace quench {
namespace {

namespace jit = torch::jit;

class Writer {
 public:
  explicit Writer(unsigned seed) : random_(seed) {}

  std::string program() {
    text_ = "def forward(self, x):\n  t0 = x\n  t1 = x * 2\n  t2 = 1 - x\n  n0 = 1\n  n1 = 2\n";
    block(1, 0, 6);
    return text_ + "  return t0, t1 * n0, t2 + n1\n";
  }

 private:
  int pick(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  std::string tensor() { return concat("t", pick(3)); }
  std::string number() { return concat("n", pick(2)); }
  void line(int depth, const std::string& text) {
    text_ += std::string(2U * static_cast<unsigned>(depth), ' ') + text + "\n";
  }

  std::string tensor_value() {
    switch (pick(9)) {
      case 0: return tensor();  // another name of it
      case 1: return tensor() + ".transpose(0, 1).transpose(0, 1)";
      case 2: return concat("torch.clamp(", tensor(), " * ", tensor(), ", -50., 50.)");
      case 3: return concat("torch.clamp(", tensor(), " * ", number(), ", -50., 50.)");
      case 4: return concat(tensor(), " - ", number());
      case 5: return concat("torch.relu(", tensor(), ")");
      case 6: return concat("torch.maximum(", tensor(), ", ", tensor(), ")");
      case 7: return concat("torch.clamp(", tensor(), " + ", tensor(), ", -50., 50.)");
      default: return concat(tensor(), ".clone() * 0.5");
    }
  }

  std::string number_value() {
    switch (pick(4)) {
      case 0: return concat("int(", tensor(), ".max()) % ", 2 + pick(4));
      case 1: return concat("(", number(), " * ", number(), " + ", pick(3), ") % 7");
      case 2: return concat(number(), " - ", number(), " // 2");
      default: return concat(1 + pick(3));
    }
  }

  std::string condition() {
    switch (pick(5)) {
      case 0: return concat("bool(", tensor(), ".max() > ", pick(9) - 4, ")");
      case 1: return concat("bool(", tensor(), ".min() < ", pick(9) - 4, ") and ", number(), " > ", pick(3));
      case 2: return concat(number(), " % 2 == ", pick(2));
      case 3: return concat(number(), " > ", number(), " or bool(", tensor(), ".max() > 2)");
      default: return concat("float(", tensor(), ".max()) < ", number());
    }
  }

  void block(int depth, int loops, int statements) {
    const int count = 1 + pick(statements);
    for (int i = 0; i < count; ++i) statement(depth, loops);
  }

  void loop(int depth, int loops) {
    if (pick(2) == 0) {
      const char* const kTurns[] = {"3", "n0 % 4", "n1 % 4", "x.size(0)"};
      line(depth, concat("for i", depth, " in range(", kTurns[pick(4)], "):"));
      if (pick(2) == 0) line(depth + 1, concat("t", pick(3), " = ", tensor(), " + i", depth));
    } else {
      line(depth, concat("k", depth, " = 0"));
      line(depth, concat("while k", depth, " < 4 and (", condition(), "):"));
      line(depth + 1, concat("k", depth, " += 1"));
    }
    block(depth + 1, loops + 1, 3);
  }

  void leave(int depth, int loops) {
    line(depth, concat("if ", condition(), ":"));
    const int how = pick(3);
    line(depth + 1, loops == 0 || how == 0 ? "return t1, t2, t0" : how == 1 ? "break" : "continue");
  }

  void statement(int depth, int loops) {
    const int kind = pick(depth > 3 ? 7 : 10);
    if (kind < 3) return line(depth, concat("t", pick(3), " = ", tensor_value()));
    if (kind == 3) return line(depth, concat("n", pick(2), " = ", number_value()));
    if (kind == 4) return line(depth, concat(tensor(), pick(2) == 0 ? " += " : " -= ", tensor()));
    if (kind == 5) return line(depth, concat("torch.relu_(", tensor(), ")"));
    if (kind == 6) return leave(depth, loops);
    if (kind == 7) return loop(depth, loops);
    line(depth, concat("if ", condition(), ":"));
    block(depth + 1, loops, 3);
    if (pick(2) == 0) return;
    line(depth, "else:");
    block(depth + 1, loops, 3);
  }

  std::mt19937 random_;
  std::string text_;
};

void expect_same(const Graph& graph, jit::Module& net, const at::Tensor& input, const std::string& code) {
  const c10::IValue expected = net.forward({input.clone()});
  const std::vector<RtValue> actual = outputs_of(graph, {input});
  for (std::size_t i = 0; i < actual.size(); ++i)
    ASSERT_TRUE(actual[i].tensor().equal(expected.toTupleRef().elements()[i].toTensor())) << "output " << i << " for\n"
                                                                                          << input << "\nis\n"
                                                                                          << actual[i].tensor() << code;
}

TEST(TorchScriptRandom, ProgramsGiveWhatTheyGiveInLibTorch) {
  const char* given = std::getenv("QUENCH_SCRIPT_PROGRAMS");
  const int programs = given ? std::atoi(given) : 300;
  const TempFolder folder;
  std::map<std::string, int> refusals;
  int imported = 0;
  for (int i = 0; i < programs; ++i) {
    const std::string code = Writer(static_cast<unsigned>(i)).program();
    jit::Module net = program(code);
    const std::string path = saved(folder, net);
    Graph graph;
    try {
      graph = import_model(path, shapes({{2, 4}}));
    } catch (const Error& error) {
      const std::string& message = error.message();
      ASSERT_EQ(message.find("graph and module differ"), std::string::npos) << message << "\n" << i << code;
      const std::size_t alias = message.find("reads a view of a tensor");
      ++refusals[alias == std::string::npos ? message.substr(0, message.find('\n')) : message.substr(alias)];
      continue;
    }
    ++imported;
    net.eval();
    at::manual_seed(static_cast<std::uint64_t>(i));
    for (int run = 0; run < 12; ++run)
      expect_same(graph, net, at::randint(-6, 7, {1 + run % 4, 4}).to(at::kFloat), code);
    if (testing::Test::HasFatalFailure()) return;
  }
  std::cout << imported << " of " << programs << " programs imported; refused:\n";
  for (const auto& [message, count] : refusals) std::cout << std::setw(6) << count << "  " << message << "\n";
  EXPECT_GT(imported, programs / 3);
}

}  // namespace
}  // namespace quench
