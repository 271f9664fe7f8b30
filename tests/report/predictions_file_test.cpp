#include "quench/predictions_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "quench/error.h"
#include "support/expect_error.h"

namespace quench {
namespace {

std::string temporary(const std::string& name) {
  return (std::filesystem::temp_directory_path() / ("quench_" + std::to_string(::getpid()) + "_" + name)).string();
}

std::string message_of(const std::string& text) {
  const std::string path = temporary("predictions.tsv");
  std::ofstream(path) << text;
  std::string message;
  try {
    read_predictions(path);
  } catch (const Error& error) {
    message = error.what();
  }
  std::filesystem::remove(path);
  for (std::size_t at; (at = message.find(path)) != std::string::npos;) message.replace(at, path.size(), "FILE");
  return message;
}

// Data without labels: there is nothing but predictions.
TEST(PredictionsFile, KeepsPredictionsWithoutMetrics) {
  EvalResult result;
  result.predictions = {{0, "a/b c.jpg", -1, 3, 1, 12.25, 0.1},
                        {7, "tab\there\\and\nline", -1, 0, 5, -1.0 / 3.0, -1e30}};
  for (const Prediction& one : result.predictions) {
    result.indices.push_back(one.index);
    result.names.push_back(one.name);
  }
  const std::string path = temporary("round_trip.tsv");
  write_predictions(path, result);
  const EvalResult found = read_predictions(path);
  EXPECT_EQ(found.predictions, result.predictions);
  EXPECT_TRUE(found.metrics.empty());
  std::ifstream in(path);
  std::string first, second, third;
  std::getline(in, first);
  std::getline(in, second);
  std::getline(in, third);
  EXPECT_EQ(first, "# quench predictions 2");
  EXPECT_EQ(second, "# index\tname\tmetric\tstatistic");
  EXPECT_EQ(third, "0\ta/b c.jpg\ttop1\t0 1 -1 3 1 12.25 0.1");
  std::filesystem::remove(path);
}

// Of labelled data, what was predicted is in the statistics of top1.
TEST(PredictionsFile, FindsPredictionsInTop1) {
  EvalResult result;
  result.indices = {4, 5};
  result.names = {"a", "b"};
  result.metrics.resize(1);
  result.metrics[0].name = "top1";
  result.metrics[0].items = {{1, 1, 3, 3, 1, 0.75, 0.5}, {0, 1, 2, 0, 2, 4, 1}};
  const std::string path = temporary("labelled.tsv");
  write_predictions(path, result);
  const EvalResult found = read_predictions(path);
  ASSERT_EQ(found.metrics.size(), 1U);
  EXPECT_EQ(found.metrics[0].items, result.metrics[0].items);
  EXPECT_EQ(found.predictions, (std::vector<Prediction>{{4, "a", 3, 3, 1, 0.75, 0.5}, {5, "b", 2, 0, 2, 4, 1}}));
  std::filesystem::remove(path);
}

TEST(PredictionsFile, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(message_of("hello\n"), "'FILE' is not a predictions file: its first line must be '# quench predictions 2'");
  EXPECT_EQ(message_of("# quench predictions 1\n1\t2\n"),
            "'FILE' is of an older format (quench predictions 1; this is quench predictions 2): write it again with "
            "this version of quench");
  EXPECT_EQ(message_of("# quench measurements 1\n").find("'FILE' is of an older format (quench measurements 1; "), 0U);
  const std::string first = "# quench predictions 2\n";
  EXPECT_EQ(message_of(first + "1\t2\n"), "expected 4 fields between tabs, found 2\n  in line 2 of FILE");
  EXPECT_EQ(message_of(first + "# x\n0\ta\tmse\t1 x\n"), "'x' is not a number\n  in line 3 of FILE");
  EXPECT_EQ(message_of(first + "0\ta\ttop1\t1 1\n"), "item 'a' has 2 numbers for its prediction, not 7\n  in FILE");
  EXPECT_EQ(message_of(first + "0\ta\tmse\t1\n0\ta\tmse\t1\n"),
            "the metric 'mse' lacks an item, or has one twice\n  in line 3 of FILE");
  EXPECT_EQ(message_of(first + "0\ta\tmse\t1\n0\ta\tb\t1\n1\tc\tmse\t1\n"),
            "'FILE' is cut short: the metric 'b' has 1 of 2 items");
  EXPECT_ERROR(read_predictions("/no/such/file"), "cannot read '/no/such/file'", "No such file");
}

EvalResult two_items() {
  EvalResult result;
  result.chosen = true;
  result.items = 2;
  result.indices = {3, 8};
  result.names = {"a\tb", "c"};
  result.metrics.resize(2);
  result.metrics[0].name = "mse:output=y";
  result.metrics[0].items = {{1.0 / 3, 2}, {-1e-30, 0}};
  result.metrics[1].name = "map";
  result.metrics[1].items = {{}, {1, 2, 3, 4, 5}};  // an item may have nothing
  return result;
}

TEST(PredictionsFile, ReadsBackStatisticsOfAnyMetric) {
  const std::string path = temporary("measurements.tsv");
  const EvalResult wanted = two_items();
  write_predictions(path, wanted);
  const EvalResult found = read_predictions(path);
  EXPECT_EQ(found.items, 2);
  EXPECT_EQ(found.indices, wanted.indices);
  EXPECT_EQ(found.names, wanted.names);
  ASSERT_EQ(found.metrics.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(found.metrics[i].name, wanted.metrics[i].name);
    EXPECT_EQ(found.metrics[i].items, wanted.metrics[i].items);
  }
  EXPECT_TRUE(found.predictions.empty());
  std::filesystem::remove(path);
}

TEST(PredictionsFile, IsToldFromAModelByItsFirstLine) {
  const std::string path = temporary("kind.tsv");
  const auto is_one = [&](const std::string& text) {
    std::ofstream(path) << text;
    return is_predictions_file(path);
  };
  EXPECT_TRUE(is_one("# quench predictions 2\n"));
  EXPECT_TRUE(is_one("# quench measurements 1\n")) << "to be refused as an older one";
  EXPECT_FALSE(is_one("\x08\x07 some model"));
  std::filesystem::remove(path);
  EXPECT_ERROR(is_predictions_file(path), "cannot read '");
}

}  // namespace
}  // namespace quench
