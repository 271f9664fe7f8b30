#include "cli/models.h"
#include "cli/program.h"
#include "quench/executor.h"
#include "quench/npz.h"

namespace quench {
namespace {

struct Files {
  Files() { export_onnx(small_classifier(), folder.path("m.onnx")); }
  std::string path(const std::string& name) const { return folder.path(name); }
  TemporaryFolder folder;
};

TEST(Run, GivesWhatTheExecutorGives) {
  const Files files;
  const at::Tensor x = at::arange(2 * 3 * 32 * 32, at::kFloat).view({2, 3, 32, 32}) / 6144;
  write_npz(files.path("x.npz"), {{"x", x}});
  const Outcome outcome =
      quench_run({"run", files.path("m.onnx"), "--inputs", files.path("x.npz"), "-o", files.path("y.npz")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("output  logits: float[2, 10]"), std::string::npos) << outcome.out;
  const Graph graph = small_classifier();
  const at::Tensor expected = Executor(graph).run({x})[0].tensor();
  EXPECT_TRUE(at::allclose(read_npz(files.path("y.npz")).at("logits").tensor(), expected));
}

TEST(Run, TakesASingleArrayOfAnyNameAndKeepsInnerValues) {
  const Files files;
  write_npz(files.path("x.npz"), {{"whatever", at::ones({1, 3, 32, 32})}});
  const Outcome outcome = quench_run({"run", files.path("m.onnx"), "--inputs", files.path("x.npz"), "-o",
                                      files.path("y.npz"), "--fetch", "conv", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.json().at("outputs").at("conv"), "float[1, 10, 32, 32]");
  EXPECT_GE(outcome.json().at("seconds").get<double>(), 0.0);
  EXPECT_EQ(read_npz(files.path("y.npz")).size(), 2U);
}

TEST(Run, RandomInputsAreTheSameForTheSameSeed) {
  const Files files;
  const auto logits = [&](const std::string& seed) {
    const Outcome outcome = quench_run({"run", files.path("m.onnx"), "--random", "--seed", seed, "--dim", "N=4", "-o",
                                        files.path("y.npz"), "--threads", "1"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return read_npz(files.path("y.npz")).at("logits").tensor();
  };
  const at::Tensor first = logits("1");
  EXPECT_EQ(first.sizes(), (std::vector<std::int64_t>{4, 10}));
  EXPECT_TRUE(at::equal(first, logits("1")));
  EXPECT_FALSE(at::equal(first, logits("2")));
}

TEST(Run, OptimizedGivesTheSameButForRounding) {
  const Files files;
  for (const char* name : {"plain.npz", "fast.npz"}) {
    std::vector<std::string> arguments = {"run", files.path("m.onnx"), "--random", "-o", files.path(name)};
    if (std::string(name) == "fast.npz") arguments.emplace_back("--optimize");
    ASSERT_EQ(quench_run(arguments).code, 0);
  }
  EXPECT_TRUE(at::allclose(read_npz(files.path("plain.npz")).at("logits").tensor(),
                           read_npz(files.path("fast.npz")).at("logits").tensor(), 1e-4, 1e-4));
}

TEST(Run, SaysWhatDoesNotFit) {
  const Files files;
  const auto error_of = [&](const std::map<std::string, RtValue>& arrays, const std::vector<std::string>& more = {}) {
    write_npz(files.path("x.npz"), arrays);
    std::vector<std::string> arguments = {"run", files.path("m.onnx"), "--inputs", files.path("x.npz")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = quench_run(arguments);
    EXPECT_EQ(outcome.code, 1);
    return outcome.err;
  };
  EXPECT_NE(error_of({{"x", at::ones({1, 3, 32, 31})}}).find("must have the shape [N, 3, 32, 32], not [1, 3, 32, 31]"),
            std::string::npos);
  EXPECT_NE(error_of({{"x", at::ones({1, 3, 32, 32}, at::kDouble)}}).find("input 'x' must be float, not double"),
            std::string::npos);
  EXPECT_NE(error_of({{"y", at::ones({1})}, {"z", at::ones({1})}}).find("there is no array 'x'"), std::string::npos);
  EXPECT_NE(error_of({{"x", at::ones({1, 3, 32, 32})}, {"z", at::ones({1})}}).find("the model has no input 'z'"),
            std::string::npos);
  EXPECT_NE(error_of({{"x", at::ones({1, 3, 32, 32})}}, {"--fetch", "cnv"}).find("conv"), std::string::npos);
  EXPECT_NE(error_of({{"x", at::ones({1, 3, 32, 32})}}, {"-o", files.path("no/y.npz")}).find("does not exist"),
            std::string::npos);
  const Outcome dim = quench_run({"run", files.path("m.onnx"), "--random", "--dim", "M=2"});
  EXPECT_NE(dim.err.find("unknown dimension 'M'"), std::string::npos) << dim.err;
}

}  // namespace
}  // namespace quench
