#include "quantize/record_data.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace quench {
namespace {

Graph model() {
  return parse_graph(R"(graph "g" {
    input %x : float[N, 3, 8, 8]
    %y = Flatten "y" (%x) : float[N, 192]
    output %y
  })");
}

TEST(RecordData, NamesTheItemsAndWarnsOfZeros) {
  const auto zeros = dataset_of({at::zeros({3, 8, 8})}), random = dataset_of({at::rand({3, 8, 8})});
  QuantizeRecord record;
  record_data(*random, model(), record);
  EXPECT_EQ(record.item, "image");
  EXPECT_TRUE(record.warnings.empty());
  record_data(*zeros, model(), record);
  ASSERT_EQ(record.warnings.size(), 1U);
  EXPECT_NE(record.warnings[0].find("every number in the first 1 item of the data is 0"), std::string::npos);
  QuantizeRecord none;
  record_data({}, model(), none);
  EXPECT_EQ(none.item, "item");
}

// Two items, of which the quantized network gets one less: -1/2. The usual metrics are compared in their own way.
TEST(MetricChanges, AreOfTheMetricsThatWereAskedFor) {
  EvalResult before;
  before.items = 2;
  before.indices = {0, 1};
  before.names = {"a", "b"};
  before.metrics.resize(1);
  before.metrics[0].name = "topk:k=3";
  before.metrics[0].items = {{1, 1}, {1, 1}};
  EvalResult after = before;
  after.metrics[0].items = {{1, 1}, {0, 1}};
  EXPECT_TRUE(metric_changes(before, after).empty());
  before.chosen = after.chosen = true;
  const std::vector<MetricChange> changes = metric_changes(before, after);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].metric, "topk:k=3");
  EXPECT_DOUBLE_EQ(changes[0].difference.difference, -0.5);
}

}  // namespace
}  // namespace quench
