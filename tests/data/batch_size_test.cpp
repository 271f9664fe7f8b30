#include "data/batch_size.h"

#include <gtest/gtest.h>

#include "quench/error.h"

namespace quench {
namespace {

std::int64_t chosen(std::vector<std::int64_t> item, std::int64_t asked = 0) {
  Graph graph;
  TypeInfo type;
  type.dtype = DType::kFloat;
  type.dims = Dims{Dim::symbol("N")};
  for (const std::int64_t size : item) type.dims->push_back(size > 0 ? Dim(size) : Dim::symbol("H"));
  return choose_batch(graph.add_input("x", type), asked);
}

TEST(BatchSize, LargeItemsComeInSmallBatches) {
  EXPECT_EQ(chosen({3, 32, 32}), 32);
  EXPECT_EQ(chosen({3, 112, 112}), 32);  // 1.2 million
  EXPECT_EQ(chosen({3, 224, 224}), 8);
  EXPECT_EQ(chosen({3, 640, 640}), 1);
  EXPECT_EQ(chosen({3, 1 << 30, 1 << 30}), 1) << "no overflow";
  EXPECT_EQ(chosen({3, -1, -1}), 32) << "not known";
  EXPECT_EQ(chosen({3, 224, 224}, 64), 64) << "as asked";
}

}  // namespace
}  // namespace quench
