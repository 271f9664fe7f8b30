#include "calibrate/fed_groups.h"

#include <gtest/gtest.h>

#include "calibrate/small_graph.h"

namespace quench {
namespace {

std::vector<std::size_t> sizes_of_groups(std::int64_t items, int threads) {
  const Graph graph = small_graph();
  const TensorData data(whole({items, 3, 8, 8}, 1, 5));
  FeedOptions how;
  how.batch = 2;
  how.fill = true;
  Feed feed(graph, data, how);
  FedGroups groups(feed, threads);
  std::vector<std::size_t> sizes;
  std::int64_t seen = 0;
  for (std::vector<Fed> group = groups.next(); !group.empty(); group = groups.next()) {
    sizes.push_back(group.size());
    EXPECT_EQ(inputs_of(group).size(), group.size());
    for (const Fed& batch : group) {
      seen += batch.items;
      EXPECT_TRUE(batch.items == batch.rows || group.size() == 1) << "a padded batch goes alone";
    }
  }
  EXPECT_EQ(seen, items);
  return sizes;
}

TEST(FedGroups, FullBatchesGoTogether) {
  using Sizes = std::vector<std::size_t>;
  EXPECT_EQ(sizes_of_groups(20, 2), (Sizes{8, 2}));
  EXPECT_EQ(sizes_of_groups(21, 2), (Sizes{8, 2, 1}));
  EXPECT_EQ(sizes_of_groups(1, 2), (Sizes{1}));
  EXPECT_EQ(sizes_of_groups(5, 1), (Sizes{1, 1, 1}));
}

}  // namespace
}  // namespace quench
