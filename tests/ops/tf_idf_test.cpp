#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "ops/checked_op.h"

namespace quench {
namespace {

using Ints = std::vector<std::int64_t>;

// Single items 2 and 3, pairs (5, 6) and (7, 8); columns in another order than the pool.
Attrs pool(const std::string& mode, std::int64_t skips) {
  return {{"mode", mode},
          {"max_skip_count", skips},
          {"min_gram_length", std::int64_t{1}},
          {"max_gram_length", std::int64_t{2}},
          {"ngram_counts", Ints{0, 2}},
          {"ngram_indexes", Ints{3, 0, 1, 2}},
          {"pool_int64s", Ints{2, 3, 5, 6, 7, 8}},
          {"weights", std::vector<double>{0.5, 2.0, 3.0, 4.0}}};
}

TEST(TfIdf, CountsItemsOnceAndPairsAcrossSkips) {
  const at::Tensor x = at::tensor({2, 2, 5, 9, 6, 7, 8}, at::kInt);
  // 2 twice; no 3; (5, 6) with one item between; (7, 8) side by side.
  EXPECT_TRUE(at::equal(run_checked("TfIdfVectorizer", {x}, pool("TF", 0)), at::tensor({0.0F, 0.0F, 1.0F, 2.0F})));
  EXPECT_TRUE(at::equal(run_checked("TfIdfVectorizer", {x}, pool("TF", 1)), at::tensor({0.0F, 1.0F, 1.0F, 2.0F})));
  EXPECT_TRUE(at::equal(run_checked("TfIdfVectorizer", {x}, pool("IDF", 1)), at::tensor({0.0F, 2.0F, 3.0F, 4.0F})));
  EXPECT_TRUE(at::equal(run_checked("TfIdfVectorizer", {x}, pool("TFIDF", 1)), at::tensor({0.0F, 2.0F, 3.0F, 8.0F})));
}

TEST(TfIdf, TakesRowsOneByOne) {
  const at::Tensor x = at::tensor({7, 8, 3, 5}, at::kLong).reshape({2, 2});
  const at::Tensor y = run_checked("TfIdfVectorizer", {x}, pool("TF", 3));
  EXPECT_TRUE(at::equal(y, at::tensor({0.0F, 0.0F, 1.0F, 0.0F, 1.0F, 0.0F, 0.0F, 0.0F}).reshape({2, 4})));
}

TEST(TfIdf, RefusesStringsAndPoolsThatDoNotFit) {
  const at::Tensor x = at::tensor({1, 2}, at::kLong);
  const auto error = [&](const char* key, const Attr& value) {
    Attrs attrs = pool("TF", 0);
    attrs[key] = value;
    return error_of({"TfIdfVectorizer", attrs}, {x});
  };
  EXPECT_NE(error("pool_strings", std::vector<std::string>{"a"}).find("strings are not supported"), std::string::npos);
  EXPECT_NE(error("ngram_counts", Ints{0, 9}).find("do not ascend to 6"), std::string::npos);
  EXPECT_NE(error("ngram_indexes", Ints{0, 1}).find("lacks a column for n-gram 2"), std::string::npos);
  EXPECT_NE(error("ngram_indexes", Ints{0, 1, -2, 3}).find("zero or more"), std::string::npos);
  EXPECT_NE(error("mode", "BM25").find("'BM25' is not one of TF"), std::string::npos);
}

}  // namespace
}  // namespace quench
