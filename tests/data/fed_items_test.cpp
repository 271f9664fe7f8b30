#include "data/fed_items.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>

#include "support/expect_error.h"

namespace quench {
namespace {

Fed fed(const at::Tensor& x) {
  Fed fed;
  fed.inputs = {{"x", RtValue(x)}};
  fed.items = x.size(0);
  for (std::int64_t i = 0; i < fed.items; ++i) fed.batch.names.push_back(concat("item", i));
  return fed;
}

TEST(FedItems, ANanIsNamedInEveryTypeOfFloats) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kFloat8_e4m3fn}) {
    at::Tensor x = at::ones({3, 4});
    EXPECT_NO_THROW(check_no_nan(fed(x.to(type)))) << type;
    x[1][2] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_ERROR(check_no_nan(fed(x.to(type))), "item 'item1' has NaN in its input 'x'");
  }
}

}  // namespace
}  // namespace quench
