#include <gtest/gtest.h>

#include "observers/observing.h"

namespace quench {
namespace {

TEST(FixedQParamsObserver, GivesWhatItWasGiven) {
  const auto observer =
      observer_of("fixed_qparams", "uint8 affine tensor", {{"scale", 2.0 / 256}, {"zero_point", 128.0}});
  EXPECT_EQ(observer->qparams(), (QParams{{2.0F / 256}, {128}}));
  observer->observe(at::full({3}, 1000.0F));
  EXPECT_EQ(observer->qparams(), (QParams{{2.0F / 256}, {128}}));
}

TEST(FixedQParamsObserver, RefusesWhatTheSchemeCannotHold) {
  const auto message = [](const char* scheme, const Options& options) {
    return message_of([&] { observer_of("fixed_qparams", scheme, options); });
  };
  EXPECT_NE(message("int8", {}).find("'scale' must be given"), std::string::npos);
  EXPECT_NE(message("int8", {{"scale", -1.0}}).find("positive and finite"), std::string::npos);
  EXPECT_NE(message("int8", {{"scale", 0.1}, {"zero_point", 3.0}}).find("from 0 to 0"), std::string::npos);
  EXPECT_NE(message("uint8 affine", {{"scale", 0.1}, {"zero_point", 256.0}}).find("from 0 to 255"), std::string::npos);
  EXPECT_NE(message("uint8 affine", {{"scale", 0.1}, {"zero_point", 0.5}}).find("whole number"), std::string::npos);
}

}  // namespace
}  // namespace quench
