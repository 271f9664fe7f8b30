// agreement: how often the largest score is where the float network has it. Needs no labels. Where an output has
// several rows of scores for an item (tokens of a text, pixels), a statistic counts those that agree.
#include <ATen/ATen.h>

#include <algorithm>

#include "data/top_classes.h"
#include "quench/error.h"
#include "quench/metric.h"

namespace quench {
namespace {

class Agreement : public RatioMetric {
 public:
  explicit Agreement(const Options& options) : output_(options.word("output")), axis_(whole_option(options, "axis")) {}
  MetricNeed need() const override { return MetricNeed::kFloat; }
  std::vector<std::string> outputs() const override { return {output_}; }

  ItemStatistic measure(const MetricItem& item) const override {
    const at::Tensor scores = rows_of(item, item.outputs), wanted = rows_of(item, item.reference);
    QUENCH_CHECK(scores.sizes() == wanted.sizes(), "the output for item '", item.name, "' has the shape ",
                 scores.sizes(), ", but that of the float network has ", wanted.sizes());
    const at::Tensor same = top_class(scores) == top_class(wanted);
    return {static_cast<double>(same.sum().item<std::int64_t>()), static_cast<double>(same.numel())};
  }

  std::optional<std::int64_t> right(const std::vector<ItemStatistic>& items) const override {
    const auto one_row = [](const ItemStatistic& one) { return one[1] == 1; };
    if (!std::all_of(items.begin(), items.end(), one_row)) return std::nullopt;
    return std::count_if(items.begin(), items.end(), [](const ItemStatistic& one) { return one[0] == 1; });
  }

 private:
  at::Tensor rows_of(const MetricItem& item, const NamedValues& values) const {
    const at::Tensor output = values.at(output_).tensor().to(at::kFloat);
    QUENCH_CHECK(axis_ < output.dim() && axis_ >= -output.dim(), "there is no axis ", axis_,
                 " in the output for item '", item.name, "', whose shape is ", output.sizes());
    const at::Tensor rows = output.movedim(axis_, -1);
    // [classes, 1, 1] of a network that ends with a convolution
    return rows.size(-1) == 1 ? rows.reshape(-1) : rows;
  }

  std::string output_;
  std::int64_t axis_;
};

}  // namespace

QUENCH_REGISTER_METRIC("agreement", Agreement, "share of largest scores that are where the float network has them", "%",
                       MetricBetter::kHigher,
                       {"output", std::string(), "the output with the scores; default: the first"},
                       {"axis", -1.0, "of the scores in one item's output; default: the last"})

}  // namespace quench
