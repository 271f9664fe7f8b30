// perplexity: e to the mean of -log p of the next token. Position t predicts token t + 1; what follows a text's real
// tokens is not scored. A statistic is the sum over one text, and how many tokens were scored.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "quench/error.h"
#include "quench/metric.h"

namespace quench {
namespace {

class Perplexity : public RatioMetric {
 public:
  explicit Perplexity(const Options& options) : output_(options.word("output")) {}
  MetricNeed need() const override { return MetricNeed::kTokens; }
  std::vector<std::string> outputs() const override { return {output_}; }

  ItemStatistic measure(const MetricItem& item) const override {
    const at::Tensor& output = item.outputs.at(output_).tensor();
    const at::Tensor& tokens = item.inputs.at(item.token_input).tensor();
    const std::int64_t length = tokens.size(0), targets = item.length - 1;
    QUENCH_CHECK(output.dim() == 2 && output.size(0) == length, "the model's output has the shape ", output.sizes(),
                 " for each text; logits of [", length, ", vocabulary] were expected");
    if (targets < 1) return {0.0, 0.0};
    const at::Tensor logits = output.narrow(0, 0, targets).to(at::kFloat);
    const at::Tensor target = tokens.narrow(0, 1, targets).to(at::kLong).unsqueeze(1);
    const auto largest = target.max().item<std::int64_t>();
    QUENCH_CHECK(largest < logits.size(1), "text '", item.name, "' holds token ", largest, ", but the model knows ",
                 logits.size(1), " tokens");
    const double loss = (-logits.log_softmax(1).gather(1, target)).to(at::kDouble).sum().item<double>();
    QUENCH_CHECK(!std::isnan(loss), "the model gives NaN for text '", item.name, "'");
    return {loss, static_cast<double>(targets)};
  }

  ValueOf combine(const std::vector<ItemStatistic>& items) const override {
    const bool scored = std::any_of(items.begin(), items.end(), [](const ItemStatistic& one) { return one[1] > 0; });
    QUENCH_CHECK(scored, "no text has two tokens: there is nothing to score");
    return RatioMetric::combine(items);
  }

 protected:
  double finish(double ratio) const override { return std::exp(ratio); }

 private:
  std::string output_;
};

}  // namespace

QUENCH_REGISTER_METRIC("perplexity", Perplexity, "e to the mean of -log p of the next token of texts", "",
                       MetricBetter::kLower,
                       {"output", std::string(), "the output with the scores; default: the first"})

}  // namespace quench
