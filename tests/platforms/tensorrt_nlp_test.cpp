#include <gtest/gtest.h>

#include "data/files.h"
#include "platforms/gated_graph.h"
#include "platforms/zoo_graph.h"
#include "quench/import.h"
#include "quench/prepare.h"

namespace quench {
namespace {

TEST(TensorrtNlp, CountsOfTheReference) {
  EXPECT_EQ(counts("tensorrt_nlp", "resnet18"), (Counts{17, 21}));
  EXPECT_EQ(counts("tensorrt_nlp", "mobilenet_v2"), (Counts{21, 53}));
}

TEST(TensorrtNlp, PlansASmallGraph) {
  EXPECT_EQ(small_plan("tensorrt_nlp"),
            "w1: int8 symmetric channel:0 narrow\n"
            "pool: int8 symmetric tensor narrow\n"
            "w2: int8 symmetric channel:0 narrow\n"
            "flat: int8 symmetric tensor narrow\n"
            "w3: int8 symmetric channel:0 narrow\n");
}

// As academic_nlp 17; and four sums, whose operands are new: the first's two, then the one that is not the sum before.
TEST(TensorrtNlp, CountsOfTheTinyVit) { EXPECT_EQ(counts(settings_for("tensorrt_nlp"), "tiny_vit"), (Counts{25, 10})); }

// Words and positions are summed in float; the mask is added to scores that were just divided.
TEST(TensorrtNlp, SkipsEmbeddingsNumbersAndMasks) {
  Graph graph;
  Value& words = graph.add_input("words", TypeInfo::tensor(DType::kInt64, {1, 3}));
  Value& mask = graph.add_input("mask", TypeInfo::tensor(DType::kFloat, {1, 3, 3}));
  Value& position = graph.add_input("position", TypeInfo::tensor(DType::kFloat, {1, 3, 4}));
  Value& number = graph.add_constant("number", at::scalar_tensor(2.0F));
  Value& row = graph.add("Gather", "row", {&graph.add_constant("table", at::ones({9, 4})), &words}).output();
  Value& both = graph.add("Add", "both", {&row, &position}).output();
  Value& more = graph.add("Add", "more", {&both, &number}).output();
  Node& turned = graph.add("Transpose", "turned", {&more});
  turned.attrs["perm"] = std::vector<std::int64_t>{0, 2, 1};
  Value& scores = graph.add("MatMul", "scores", {&more, &turned.output()}).output();
  Value& divided = graph.add("Div", "divided", {&scores, &number}).output();
  graph.add_output(graph.add("Add", "masked", {&divided, &mask}).output());
  infer_shapes(graph);
  const QuantPlan plan = make_plan(graph, settings_for("tensorrt_nlp"));
  EXPECT_EQ(text_of(plan),
            "more: int8 symmetric tensor narrow\n"
            "turned: int8 symmetric tensor narrow\n"
            "mask: int8 symmetric tensor narrow\n");
  EXPECT_EQ(explain(plan, "divided"), "'divided' stays float: a Div that feeds an Add: the target fuses the two");
  QuantConfig without = settings_for("tensorrt_nlp");  // D36
  without.excluded_ops = {"MatMul"};
  EXPECT_EQ(text_of(make_plan(graph, without)), "mask: int8 symmetric tensor narrow\n");
}

TEST(TensorrtNlp, PlansStories) {
  const std::string path = real_data("models/stories260K_T256.onnx");
  SKIP_WITHOUT(path);
  const QuantizedModel prepared = prepare(import_model(path), settings_for("tensorrt_nlp"));
  EXPECT_EQ(counts_of(prepared.plan), (Counts{59, 36}));
}

TEST(TensorrtNlp, RefusesAffine) {
  QuantConfig config = settings_for("tensorrt_nlp");
  config.activation.symmetric = config.activation.narrow = false;
  EXPECT_REFUSES(config, "cannot run affine activations (symmetric only)");
}

}  // namespace
}  // namespace quench
