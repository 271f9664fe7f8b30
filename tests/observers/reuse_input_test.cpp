#include <gtest/gtest.h>

#include "observers/observing.h"
#include "quench/plan.h"
#include "support/expect_error.h"

namespace quench {
namespace {

TEST(ReuseInputObserver, FindsNoScaleAndSaysWhatWould) {
  const auto observer = observer_of("reuse_input", "uint8 affine tensor");
  observer->observe(at::full({3}, 1000.0F));
  EXPECT_EQ(observer->scheme().text(), "uint8 affine tensor");
  EXPECT_EQ(observer->state().size(), 2U) << "batches and shape alone";
  EXPECT_ERROR(observer->qparams(), "it finds no scale", "shared_with");
}

TEST(ReuseInputObserver, IsRefusedInAPlan) {
  QuantizerSpec spec;
  spec.observer = "reuse_input";
  EXPECT_ERROR(make_observer(spec), "observer 'reuse_input' finds no scale: ", "shared_with");
}

}  // namespace
}  // namespace quench
