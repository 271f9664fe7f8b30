// Data that hardly anyone means, and data that looks right.
#include "data/doubts.h"

#include <ATen/ATen.h>

#include "data/files.h"
#include "quench/error.h"

namespace quench {
namespace {

std::vector<std::string> of_values(std::vector<at::Tensor> items) {
  return doubts_about_values(*dataset_of(std::move(items)));
}

TEST(Doubts, AboutDataOfOneNumber) {
  const at::Tensor zeros = at::zeros({3, 4, 4});
  const std::vector<std::string> doubts = of_values({zeros, zeros});
  ASSERT_EQ(doubts.size(), 1U);
  EXPECT_EQ(doubts[0],
            "every number in the first 2 items of the data is 0: scales that are found on such data are useless");
  EXPECT_EQ(of_values({-zeros, zeros}), doubts) << "there is no -0";
  EXPECT_EQ(of_values({at::full({4}, 2.5F)}).at(0).find("every number in the first 1 item of the data is 2.5"), 0U);
  EXPECT_TRUE(of_values({zeros, at::ones({3, 4, 4})}).empty()) << "two numbers";
  EXPECT_TRUE(of_values({at::rand({3, 4, 4})}).empty());
  EXPECT_TRUE(of_values({at::zeros({4}, at::kLong)}).empty()) << "padding is legal";
  EXPECT_TRUE(of_values({at::zeros({1})}).empty());
}

class Classes : public Dataset {
 public:
  explicit Classes(int classes) : classes_(static_cast<std::size_t>(classes), "name") {}
  std::int64_t size() const override { return 1; }
  Task task() const override { return Task::kClassify; }
  Sample get(std::int64_t) const override { return {at::rand({3, 4, 4}), 0}; }
  std::vector<std::string> classes() const override { return classes_; }

 private:
  std::vector<std::string> classes_;
};

// 8 x 8 pictures, 192 classes.
Graph small_model() {
  return parse_graph(R"(graph "g" {
    input %x : float[N, 3, 8, 8]
    %y = Flatten "y" (%x) : float[N, 192]
    output %y
  })");
}

TEST(Doubts, AboutAnotherNumberOfClasses) {
  EXPECT_TRUE(doubts_about_classes(Classes(192), small_model()).empty());
  EXPECT_TRUE(doubts_about_classes(Classes(0), small_model()).empty());
  const std::vector<std::string> doubts = doubts_about_classes(Classes(2), small_model());
  ASSERT_EQ(doubts.size(), 1U);
  EXPECT_EQ(doubts[0].find("the data has 2 classes, the model 192: labels count the classes of the data"), 0U);
  EXPECT_NE(doubts[0].find("classes=FILE"), std::string::npos);
}

TEST(Doubts, AboutPhotographsForASmallModel) {
  const std::string pictures = test_data("images");
  DatasetSpec spec = parse_spec("images:" + pictures + "?norm=imagenet");
  const std::vector<std::string> doubts = doubts_about_size(spec, small_model());
  ASSERT_EQ(doubts.size(), 1U);
  EXPECT_EQ(doubts[0].find("the pictures are large (the first has 53 x 37 points)"), 0U) << doubts[0];
  EXPECT_NE(doubts[0].find("the model takes 8 x 8: they are shrunk to that"), std::string::npos) << doubts[0];
  spec.options["size"] = "8";
  EXPECT_TRUE(doubts_about_size(spec, small_model()).empty()) << "it was asked for";
  EXPECT_TRUE(doubts_about_size(parse_spec("images:/no/such/folder"), small_model()).empty());
  EXPECT_TRUE(doubts_about_size(parse_spec("random:4"), small_model()).empty());
}

}  // namespace
}  // namespace quench
