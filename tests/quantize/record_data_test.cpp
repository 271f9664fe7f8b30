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

}  // namespace
}  // namespace quench
