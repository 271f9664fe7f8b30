// kl: the mean Kullback-Leibler divergence from the float network's predictions to those of the model, in nats. The
// last axis of the output holds scores, of which the softmax is taken.
#include <ATen/ATen.h>

#include "quench/error.h"
#include "quench/metric.h"

namespace quench {
namespace {

class Divergence : public RatioMetric {
 public:
  explicit Divergence(const Options& options) : output_(options.word("output")) {}
  MetricNeed need() const override { return MetricNeed::kFloat; }
  std::vector<std::string> outputs() const override { return {output_}; }
  ItemStatistic measure(const MetricItem& item) const override {
    const at::Tensor &output = item.outputs.at(output_).tensor(), &wanted = item.reference.at(output_).tensor();
    QUENCH_CHECK(output.sizes() == wanted.sizes() && output.dim() > 0, "the output for item '", item.name,
                 "' has the shape ", output.sizes(), ", but that of the float network has ", wanted.sizes());
    const at::Tensor log_q = output.to(at::kDouble).log_softmax(-1), log_p = wanted.to(at::kDouble).log_softmax(-1);
    const double rows = static_cast<double>(output.numel()) / static_cast<double>(output.size(-1));
    return {(log_p.exp() * (log_p - log_q)).sum().item<double>(), rows};
  }

 private:
  std::string output_;
};

}  // namespace

QUENCH_REGISTER_METRIC("kl", Divergence, "mean KL divergence of predictions from those of the float network", "",
                       MetricBetter::kLower,
                       {"output", std::string(), "the output with the scores; default: the first"})

}  // namespace quench
