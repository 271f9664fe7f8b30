#include <gtest/gtest.h>

#include "data/files.h"
#include "platforms/gated_graph.h"
#include "platforms/zoo_graph.h"
#include "quench/import.h"
#include "quench/prepare.h"

namespace quench {
namespace {

TEST(AcademicNlp, PlansASmallGraph) {
  EXPECT_EQ(small_plan("academic_nlp"),
            "w1: int8 symmetric tensor\n"
            "w2: int8 symmetric tensor\n"
            "flat: int8 symmetric tensor\n"
            "w3: int8 symmetric tensor\n");
}

TEST(AcademicNlp, CountsOfTheReference) {
  QuantConfig config = settings_for("academic_nlp", 4);
  config.parity = true;
  EXPECT_EQ(counts(config, "resnet18"), (Counts{1, 21}));
  EXPECT_EQ(counts(config, "mobilenet_v2"), (Counts{1, 53}));
}

// Two encoder layers, each: what qkv reads, q, k, softmax and v, what the projection reads, what the two of the MLP
// read: 8. And what the head reads. Weights: the patches, 4 per layer, the head.
TEST(AcademicNlp, CountsOfTheTinyVit) { EXPECT_EQ(counts(settings_for("academic_nlp"), "tiny_vit"), (Counts{17, 10})); }

// Five layers of 8 (what q, k and v read; q, k, softmax, v; what the projection, w1 and w3, and w2 read) and what the
// last reads. Weights: 7 per layer, the last, and the embedding, whose channels are its columns.
TEST(AcademicNlp, CountsOfStories) {
  const std::string path = real_data("models/stories260K_T256.onnx");
  SKIP_WITHOUT(path);
  QuantConfig config = settings_for("academic_nlp");
  config.weight.granularity = Granularity::kChannel;
  const QuantizedModel prepared = prepare(import_model(path), config);
  EXPECT_EQ(counts_of(prepared.plan), (Counts{41, 37}));
  int tables = 0;
  for (const auto& node : prepared.graph.nodes()) {
    const Node* quantizer = node->op() == "Gather" && node->input(0) ? node->input(0)->producer() : nullptr;
    if (!quantizer || quantizer->op() != "quench.FakeQuant") continue;
    ++tables;
    EXPECT_EQ(fake_quant_spec(*quantizer).scheme.text(), "int8 symmetric channel:1");
  }
  EXPECT_EQ(tables, 1);
}

TEST(AcademicNlp, AColumnTakenFromAMatrixIsNoEmbedding) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kInt64, {1, 3}));
  Node& rows = graph.add("Gather", "rows", {&graph.add_constant("table", at::ones({9, 4})), &x});
  Node& columns = graph.add("Gather", "columns", {&graph.add_constant("matrix", at::ones({9, 4})), &x});
  columns.attrs["axis"] = std::int64_t{1};
  graph.add_output(rows.output());
  graph.add_output(columns.output());
  infer_shapes(graph);
  EXPECT_EQ(text_of(make_plan(graph, settings_for("academic_nlp"))), "table: int8 symmetric tensor\n");
}

TEST(AcademicNlp, HasNoDefaults) {
  QuantConfig config;
  config.platform = "academic_nlp";
  EXPECT_REFUSES(config, "platform 'academic_nlp' has no defaults");
}

}  // namespace
}  // namespace quench
