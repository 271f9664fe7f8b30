#include "measure/metric_items.h"
#include "support/expect_error.h"

namespace quench {
namespace {

MetricItem text(const at::Tensor& logits, std::vector<std::int64_t> tokens, std::int64_t length) {
  MetricItem item = item_with_output(logits);
  item.token_input = "ids";
  item.inputs["ids"] = at::tensor(tokens, at::kLong);
  item.length = length;
  return item;
}

// Logits of zero: every token has the probability 1/5, and the perplexity is 5.
TEST(Perplexity, IsTheNumberOfEquallyLikelyTokens) {
  EXPECT_NEAR(value_of("perplexity", {text(at::zeros({4, 5}), {0, 1, 2, 3}, 4)}), 5.0, 1e-6);
}

// Log 3 for one token, whose other two choices are as likely; and log(2 + e^9) - 9 for a right guess at 9.
TEST(Perplexity, AddsOverTheRealTokensOfAllTexts) {
  const at::Tensor logits = at::tensor({0.0F, 0.0F, 0.0F, 9.0F, 0.0F, 0.0F, 7.0F, 7.0F, 7.0F}).view({3, 3});
  const double right = std::log(2 + std::exp(9.0)) - 9;
  EXPECT_NEAR(value_of("perplexity", {text(logits, {1, 1, 0}, 3), text(logits, {1, 1, 0}, 2)}),
              std::exp((std::log(3.0) + right + std::log(3.0)) / 3), 1e-6);
  EXPECT_EQ(metric_of("perplexity")->measure(text(logits, {1, 1, 0}, 1)), (ItemStatistic{0, 0}));
}

TEST(Perplexity, SaysWhatDoesNotFit) {
  EXPECT_ERROR(value_of("perplexity", {text(at::zeros({4, 5}), {0, 1, 2, 3}, 1)}),
               "no text has two tokens: there is nothing to score");
  EXPECT_ERROR(value_of("perplexity", {text(at::zeros({4, 5}), {0, 1, 2, 5}, 4)}),
               "text 'item' holds token 5, but the model knows 5 tokens");
  EXPECT_ERROR(value_of("perplexity", {text(at::zeros({3, 5}), {0, 1, 2, 3}, 4)}),
               "the model's output has the shape [3, 5] for each text; logits of [4, vocabulary] were expected");
  EXPECT_ERROR(value_of("perplexity", {text(at::full({4, 5}, NAN), {0, 1, 2, 3}, 4)}),
               "the model gives NaN for text 'item'");
}

}  // namespace
}  // namespace quench
