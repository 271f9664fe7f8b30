// The evaluation loop, on data sets made here and a graph whose answers are known.
#include "quench/evaluate.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "quench/error.h"
#include "quench/paired_test.h"

namespace quench {
namespace {

// Item i is a row of `rows`, labelled labels[i].
class Rows : public Dataset {
 public:
  Rows(at::Tensor rows, std::vector<std::int64_t> labels, Task task = Task::kClassify)
      : rows_(std::move(rows)), labels_(std::move(labels)), task_(task) {}
  std::int64_t size() const override { return rows_.size(0); }
  Task task() const override { return task_; }
  Sample get(std::int64_t index) const override {
    const std::int64_t number = labels_[static_cast<std::size_t>(index)];
    if (task_ == Task::kNextToken) return {rows_[index], -1, std::to_string(index), number};
    if (number == kBroken) fail("item ", index, " is broken");
    return {rows_[index], number, std::to_string(index), -1};
  }
  static constexpr std::int64_t kBroken = -7;

 private:
  at::Tensor rows_;
  std::vector<std::int64_t> labels_;  // of a text: its length
  Task task_;
};

// The input itself is the logits.
Graph identity(Dim batch, std::int64_t classes) {
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kFloat, {std::move(batch), classes}));
  graph.add_output(graph.add("Relu", "y", {&x}).output());
  return graph;
}

at::Tensor seven_rows() {
  // Row i is largest at class i % 6, next at the class after it.
  at::Tensor rows = at::zeros({7, 6});
  for (std::int64_t i = 0; i < 7; ++i) {
    rows[i][i % 6] = 5.0F + static_cast<float>(i);
    rows[i][(i + 1) % 6] = 2.0F;
    rows[i][(i + 2) % 6] = 1.5F;
    rows[i][(i + 3) % 6] = 1.25F;
    rows[i][(i + 4) % 6] = 1.0F;
  }
  return rows;
}

std::string message_of(const Graph& graph, const Dataset& data, const EvalOptions& options = {}) {
  try {
    evaluate(graph, data, options);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST(Evaluate, CountsTop1AndTop5) {
  // Right, right, second, fifth, none, right, right.
  const Rows data(seven_rows(), {0, 1, 3, 1, 3, 5, 0});
  const EvalResult result = evaluate(identity(Dim::symbol("N"), 6), data);
  EXPECT_EQ(result.items, 7);
  EXPECT_EQ(result.metric("top1").right, 4);
  EXPECT_EQ(result.metric("top5").right, 6);
  EXPECT_DOUBLE_EQ(result.top1(), 4.0 / 7);
  EXPECT_EQ(result.batch, 32);
  ASSERT_EQ(result.predictions.size(), 7U);
  EXPECT_EQ(result.predictions[2], (Prediction{2, "2", 3, 2, 3, 7.0, 2.0}));
}

// A ReLU would make zeros of them.
TEST(Evaluate, RefusesNaNInTheData) {
  at::Tensor rows = seven_rows();
  rows[4][2] = NAN;
  EvalOptions options;
  options.optimize = true;
  options.batch = 3;
  EXPECT_EQ(message_of(identity(Dim::symbol("N"), 6), Rows(rows, {0, 1, 3, 1, 3, 5, 0}), options),
            "item '4' has NaN in its input 'x'");
}

TEST(Evaluate, GivesTheSameAtAnyBatchSize) {
  const Rows data(seven_rows(), {0, 1, 3, 1, 3, 5, 0});
  const EvalResult whole = evaluate(identity(Dim::symbol("N"), 6), data);
  for (std::int64_t batch : {1, 3, 7, 100}) {
    EvalOptions options;
    options.batch = batch;
    options.workers = 2;
    std::vector<std::int64_t> seen;
    options.progress = [&](std::int64_t done, std::int64_t total) {
      seen.push_back(done);
      EXPECT_EQ(total, 7);
    };
    EXPECT_EQ(evaluate(identity(Dim::symbol("N"), 6), data, options).predictions, whole.predictions) << batch;
    EXPECT_EQ(seen.back(), 7);
    EXPECT_EQ(static_cast<std::int64_t>(seen.size()), (7 + batch - 1) / batch);
  }
}

TEST(Evaluate, FillsUpTheLastBatchOfAModelWithAFixedOne) {
  const Rows data(seven_rows(), {0, 1, 3, 1, 3, 5, 0});
  const EvalResult result = evaluate(identity(4, 6), data);
  EXPECT_EQ(result.batch, 4);
  EXPECT_EQ(result.items, 7);
  EXPECT_EQ(result.metric("top1").right, 4);
}

TEST(Evaluate, ScoresOnlyTheRealTokensOfATexts) {
  // Logits of position t are a one-hot of the token itself times 2: the loss of a right guess (the same token
  // again) is log(3 + e^2) - 2, of a wrong one log(3 + e^2), with 4 tokens.
  Graph graph;
  Value& x = graph.add_input("x", TypeInfo::tensor(DType::kInt64, {2, 4}));
  Value& depth = graph.add_constant("depth", at::tensor({4}, at::kLong));
  Value& values = graph.add_constant("values", at::tensor({0.0F, 2.0F}));
  graph.add_output(graph.add("OneHot", "y", {&x, &depth, &values}).output());
  const Rows data(at::tensor({1, 1, 2, 0, 3, 3, 3, 3, 1, 0, 0, 0}, at::kLong).view({3, 4}), {3, 4, 1},
                  Task::kNextToken);
  const EvalResult result = evaluate(graph, data);
  const double wrong = std::log(3 + std::exp(2.0)), right = wrong - 2;
  EXPECT_EQ(result.items, 3);
  EXPECT_EQ(result.tokens(), 5);  // 2 + 3 + 0
  EXPECT_NEAR(result.perplexity(), std::exp((4 * right + wrong) / 5), 1e-5);
}

TEST(Evaluate, NamesBrokenItemsAndLeavesThemOutWhenAsked) {
  const Rows data(seven_rows(), {0, 1, Rows::kBroken, 1, 3, 5, 0});
  EvalOptions options;
  options.skip_broken = true;
  const EvalResult result = evaluate(identity(Dim::symbol("N"), 6), data, options);
  EXPECT_EQ(result.items, 6);
  ASSERT_EQ(result.skipped.size(), 1U);
  EXPECT_NE(result.skipped[0].find("item 2 is broken"), std::string::npos) << result.skipped[0];
  EXPECT_NE(message_of(identity(Dim::symbol("N"), 6), data).find("item 2 is broken"), std::string::npos);
}

// Once a bug: tied logits were broken in no fixed order, and data without labels was refused.
TEST(Evaluate, TiesGoToTheLowestClassAndPredictionsNeedNoLabels) {
  const EvalResult tied = evaluate(identity(Dim::symbol("N"), 6), Rows(at::ones({3, 6}), {0, 1, 5}));
  EXPECT_EQ(tied.metric("top1").right, 1);
  EXPECT_EQ(tied.metric("top5").right, 2);
  EXPECT_EQ(tied.predictions[2].first, 0);
  EXPECT_EQ(tied.predictions[2].second, 1);
  const EvalResult plain =
      evaluate(identity(Dim::symbol("N"), 6), Rows(seven_rows(), {-1, -1, -1, -1, -1, -1, -1}, Task::kNone));
  EXPECT_EQ(plain.items, 7);
  EXPECT_EQ(plain.predictions[3].first, 3);
  EXPECT_EQ(compare_predictions(plain.predictions, plain.predictions).changed, 0);
}

TEST(Evaluate, SaysWhatDoesNotFit) {
  const Rows data(seven_rows(), {0, 1, 3, 1, 3, 5, 6});
  EXPECT_EQ(message_of(identity(Dim::symbol("N"), 6), data), "item '6' has label 6, but the model has 6 classes");
  EvalOptions options;
  options.batch = 8;
  EXPECT_EQ(message_of(identity(4, 6), data, options),
            "the model's batch dimension is fixed at 4; a batch of 8 cannot be fed (omit the batch size)");
  Graph two = identity(4, 6);
  two.add_input("more", TypeInfo::tensor(DType::kFloat, {1}));
  EXPECT_EQ(message_of(two, data),
            "the data gives one value without a name, but the model has 2 inputs to fill: 'x' (float[4, 6]), 'more' "
            "(float[1]); name data for each of them (npz:, or as=NAME and with=FILE; docs/data.md)");
}

TEST(InputHint, ReadsImagesAndTexts) {
  Graph images;
  images.add_output(images.add_input("x", TypeInfo::tensor(DType::kFloat, {Dim::symbol("N"), 3, 32, Dim()})));
  const InputHint hint = input_hint(images);
  EXPECT_EQ(hint.channels, 3);
  EXPECT_EQ(hint.height, 32);
  EXPECT_EQ(hint.width, -1);
  EXPECT_EQ(hint.length, -1);
  Graph texts;
  texts.add_output(texts.add_input("x", TypeInfo::tensor(DType::kInt64, {1, 256})));
  EXPECT_EQ(input_hint(texts).length, 256);
}

}  // namespace
}  // namespace quench
