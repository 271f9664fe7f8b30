// On the CPU nothing is copied; tests/cuda/replay_test.cpp has the GPU.
#include "kernels/device_copy.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace quench {
namespace {

TEST(DeviceCopy, LeavesWhatIsOnTheCpuWhereItIs) {
  const at::Tensor x = at::arange(6);
  EXPECT_TRUE(Upload("cpu").copy(x).is_same(x));
  Download download(x);
  EXPECT_TRUE(download.wait().is_same(x));
}

}  // namespace
}  // namespace quench
