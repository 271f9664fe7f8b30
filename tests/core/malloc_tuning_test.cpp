#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <cstring>

#include "quench/process.h"

namespace quench {
namespace {

long page_faults() {
  struct rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

// Allocates, touches and frees a block of 64 MiB; returns the page faults that took.
long faults_of_one_block() {
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  const long before = page_faults();
  void* block = std::malloc(kBytes);
  std::memset(block, 1, kBytes);
  std::free(block);
  return page_faults() - before;
}

TEST(KeepLargeBlocks, ASecondBlockIsNotFaultedInAgain) {
#ifndef __GLIBC__
  GTEST_SKIP() << "the C library is not glibc";
#endif
  ASSERT_TRUE(keep_large_blocks());
  const long first = faults_of_one_block();
  const long second = faults_of_one_block();
  if (first < 10) GTEST_SKIP() << "64 MB cost " << first << " page faults here: huge pages leave nothing to measure";
  EXPECT_LT(second, first / 4);
}

}  // namespace
}  // namespace quench
