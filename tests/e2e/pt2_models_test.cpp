// The torch.export archives of the data folder: their recorded outputs, and other batch sizes.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <limits>

#include "quench/executor.h"
#include "quench/import.h"
#include "quench/npz.h"
#include "support/data_file.h"

namespace quench {
namespace {

class Pt2Models : public testing::TestWithParam<std::string> {};

// Every node rounds a few times, relative to values no larger than `size`: so many units in the last place of
// those may two runs of the same network with other kernels (or another split of the batch) differ.
double tolerance_of(const Graph& graph, double size) {
  return 16.0 * std::numeric_limits<float>::epsilon() * static_cast<double>(graph.nodes().size() + 1) * size;
}

double largest(const at::Tensor& tensor) { return tensor.abs().max().item<double>(); }

TEST_P(Pt2Models, GiveTheirRecordedOutputs) {
  const std::string path = data_file("pt2/" + GetParam() + ".pt2");
  if (path.empty()) GTEST_SKIP() << "the torch.export archives are not here (set QUENCH_DATA)";
  const Graph graph = import_model(path);
  auto recorded = read_npz(data_file("pt2/" + GetParam() + ".npz"));
  const at::Tensor input = recorded.at("input").tensor(), expected = recorded.at("output").tensor();
  Executor executor(graph);
  const at::Tensor actual = executor.run({RtValue(input)}).at(0).tensor();
  ASSERT_EQ(actual.sizes(), expected.sizes());
  const double difference = largest(actual - expected);
  std::printf("%s: largest difference %.3g of %.3g\n", GetParam().c_str(), difference, largest(expected));
  EXPECT_LE(difference, tolerance_of(graph, largest(expected)));
}

// Each item of a batch by itself gives its row of the whole batch's result. Looked at in front of the last
// layer too: the head of tiny_vit is all zeros.
TEST_P(Pt2Models, RunAtOtherBatchSizes) {
  const std::string path = data_file("pt2/" + GetParam() + ".pt2");
  if (path.empty()) GTEST_SKIP() << "the torch.export archives are not here (set QUENCH_DATA)";
  const Graph graph = import_model(path);
  const Value& input = *graph.inputs().at(0);
  EXPECT_TRUE(input.dims().at(0).is_symbol()) << input.type().text();
  const Value& output = *graph.outputs().at(0);
  EXPECT_EQ(output.dims().at(0), input.dims().at(0)) << output.type().text();
  const std::string before = output.producer()->input(0)->name();
  const at::Tensor batch = read_npz(data_file("pt2/" + GetParam() + ".npz")).at("input").tensor();
  Executor executor(graph);
  const auto run = [&](const at::Tensor& x, const std::string& value) {
    return executor.run(NamedValues{{input.name(), RtValue(x)}}, {value}).at(value).tensor();
  };
  const at::Tensor five = at::cat({batch, batch.slice(0, 0, 2)});
  for (const std::string& value : {before, output.name()}) {
    const at::Tensor whole = run(five, value);
    const double tolerance = tolerance_of(graph, largest(whole));
    EXPECT_TRUE(value != before || largest(whole) > 0.0);
    for (std::int64_t i = 0; i < batch.size(0); ++i)
      EXPECT_LE(largest(run(batch.slice(0, i, i + 1), value) - whole.slice(0, i, i + 1)), tolerance) << value;
    EXPECT_LE(largest(whole.slice(0, 3) - whole.slice(0, 0, 2)), tolerance) << value;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Pt2Models,
                         testing::Values("squeezenet1_1", "shufflenet_v2_x0_5", "tiny_vit", "text_encoder", "bilstm"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace quench
