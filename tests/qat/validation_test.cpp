// When training validates, and what.
#include <gtest/gtest.h>

#include "qat/quarters_net.h"
#include "quench/evaluate.h"
#include "quench/pass.h"
#include "quench/quantizers.h"
#include "quench/train.h"

namespace quench {
namespace {

// mmrazor's val_begin, val_interval and dynamic_intervals, and its QATValLoop: the quantized network, then the float
// one.
TEST(Validation, HappensWhenAndWhatItIsAskedTo) {
  QuantizedModel model = calibrated();
  TrainOptions options = quick();
  options.epochs = 8;
  options.batch = 128;
  options.val_begin = 2;
  options.val_interval = 2;
  options.dynamic_intervals = {{5, 1}, {7, 3}};
  options.val_float = true;
  std::string measured;
  options.epoch_done = [&](const TrainEpoch& epoch) {
    EXPECT_EQ(epoch.quantized.has_value(), epoch.in_float.has_value());
    if (epoch.quantized) measured += std::to_string(epoch.epoch);
  };
  options.keep_best = false;
  const TrainRecord record = train(model, {items(), &others()}, options);
  EXPECT_EQ(measured, "24568") << "the last one always";
  const auto score = [](const Graph& graph) { return evaluate(graph, others()).top1(); };
  Graph folded(model.graph);
  run_passes(folded, {"fold_live_norms", "eliminate_dead"});
  EXPECT_EQ(*record.epochs.back().quantized, score(folded));
  EXPECT_EQ(*record.epochs.back().in_float, score(without_quantizers(folded)));
}

}  // namespace
}  // namespace quench
