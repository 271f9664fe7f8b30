#include <gtest/gtest.h>

#include "observers/observing.h"
#include "quench/plan.h"
#include "support/expect_error.h"

namespace quench {
namespace {

TEST(PlaceholderObserver, FindsNoScaleAndSaysWhatWould) {
  const auto observer = observer_of("placeholder", "uint8 affine tensor");
  observer->observe(at::full({3}, 1000.0F));
  EXPECT_EQ(observer->scheme().text(), "uint8 affine tensor");
  EXPECT_EQ(observer->state().size(), 2U) << "batches and shape alone";
  EXPECT_ERROR(observer->qparams(), "it finds no scale", "use 'min_max'");
}

TEST(PlaceholderObserver, IsRefusedInAPlan) {
  QuantizerSpec spec;
  spec.observer = "placeholder";
  EXPECT_ERROR(make_observer(spec), "observer 'placeholder' finds no scale: ", "use 'min_max'");
}

}  // namespace
}  // namespace quench
