// The torch.export archives of the data folder: every value of the network against what LibTorch computes call by call,
// at several batch sizes; and their recorded outputs.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <limits>

#include "e2e/pt2_reference.h"
#include "import/pt2/archive.h"
#include "import/pt2/graph.h"
#include "quench/error.h"
#include "quench/executor.h"
#include "quench/import.h"
#include "quench/npz.h"
#include "support/data_file.h"

namespace quench {
namespace {

class Pt2Models : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    path = data_file("pt2/" + GetParam() + ".pt2");
    if (path.empty()) GTEST_SKIP() << "the torch.export archives are not here (set QUENCH_DATA)";
    recorded = read_npz(data_file("pt2/" + GetParam() + ".npz"));
  }
  // The recorded items, each as often as needed.
  at::Tensor batch_of(std::int64_t count) const {
    const at::Tensor items = recorded.at("input").tensor();
    return items.repeat_interleave((count + items.size(0) - 1) / items.size(0), 0).narrow(0, 0, count).contiguous();
  }
  std::string path;
  std::map<std::string, RtValue> recorded;
};

// A node rounds a few times, relative to values no larger than `size`, and hands on what those before it rounded: two
// runs of the same network with other kernels may differ by that many units in the last place after `nodes` nodes.
double tolerance_of(std::size_t nodes, double size) {
  return 16.0 * std::numeric_limits<float>::epsilon() * static_cast<double>(nodes + 1) * size;
}

double largest(const at::Tensor& tensor) {
  return tensor.numel() == 0 ? 0.0 : tensor.to(at::kDouble).abs().max().item<double>();
}

TEST_P(Pt2Models, GiveTheirRecordedOutputs) {
  const Graph graph = import_model(path);
  const at::Tensor input = recorded.at("input").tensor(), expected = recorded.at("output").tensor();
  const at::Tensor actual = Executor(graph).run({RtValue(input)}).at(0).tensor();
  ASSERT_EQ(actual.sizes(), expected.sizes());
  EXPECT_LE(largest(actual - expected), tolerance_of(graph.nodes().size(), largest(expected)));
}

struct Compared {
  int values = 0;
  double worst = 0.0;  // of the size of the value that it is in
  double output = 0.0;
};

// Every tensor that a call of the program gives and that the graph computes.
Compared compare(const Graph& graph, const std::map<std::string, std::string>& names,
                 const std::map<std::string, at::Tensor>& expected, const RtValue& input) {
  Compared result;
  std::map<std::string, std::string> wanted;
  std::vector<std::string> values{graph.outputs().at(0)->name()};
  for (const auto& [name, value] : names) {
    if (!graph.value(value).producer() || !expected.contains(name)) continue;
    wanted[name] = value;
    values.push_back(value);
  }
  const NamedValues found = Executor(graph).run(NamedValues{{graph.inputs().at(0)->name(), input}}, values);
  for (const auto& [name, value] : wanted) {
    const at::Tensor &actual = found.at(value).tensor(), &reference = expected.at(name);
    EXPECT_EQ(actual.sizes(), reference.sizes()) << name;
    if (actual.sizes() != reference.sizes()) continue;
    const double size = largest(reference);
    const double difference = largest(actual.to(at::kDouble) - reference.to(at::kDouble));
    EXPECT_LE(difference, tolerance_of(graph.nodes().size(), size)) << name;
    result.worst = std::max(result.worst, size == 0.0 ? 0.0 : difference / size);
    result.output = value == values[0] ? difference : result.output;
    ++result.values;
  }
  return result;
}

TEST_P(Pt2Models, EveryValueIsLibTorchsAtAnyBatchSize) {
  const Pt2Archive archive(path);
  const std::string member = concat("models/", archive.model(), ".json");
  const Pt2Program program = read_pt2_program(archive.text(member), member);
  Pt2Weights weights(archive);
  std::map<std::string, std::string> names;
  const Graph graph = graph_of_pt2(program, weights, {}, &names);
  EXPECT_TRUE(graph.inputs().at(0)->dims().at(0).is_symbol());
  EXPECT_EQ(graph.outputs().at(0)->dims().at(0), graph.inputs().at(0)->dims().at(0));
  for (const std::int64_t batch : {std::int64_t{1}, recorded.at("input").tensor().size(0), std::int64_t{7}}) {
    SCOPED_TRACE(concat("batch ", batch));
    const at::Tensor input = batch_of(batch);
    const auto expected = run_pt2_reference(program, weights, {input.clone()});
    const Compared compared = compare(graph, names, expected, RtValue(input));
    EXPECT_GE(compared.values, static_cast<int>(program.nodes.size() / 2));
    std::printf("| %s | %lld | %d | %.2g | %.2g |\n", GetParam().c_str(), static_cast<long long>(batch),
                compared.values, compared.worst, compared.output);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Pt2Models,
                         testing::Values("squeezenet1_1", "shufflenet_v2_x0_5", "tiny_vit", "text_encoder", "bilstm"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace quench
