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

TEST(PredictionsFile, ReadsBackWhatItWrites) {
  const std::vector<Prediction> predictions = {{0, "a/b c.jpg", 3, 3, 1, 12.25, 0.1},
                                               {7, "tab\there\\and\nline", 999, 0, 5, -1.0 / 3.0, -1e30}};
  const std::string path = temporary("round_trip.tsv");
  write_predictions(path, predictions);
  EXPECT_EQ(read_predictions(path), predictions);
  std::ifstream in(path);
  std::string first, second, third;
  std::getline(in, first);
  std::getline(in, second);
  std::getline(in, third);
  EXPECT_EQ(first, "# quench predictions 1");
  EXPECT_EQ(second, "# index\tname\tlabel\tprediction\tsecond\tlogit\tsecond_logit");
  EXPECT_EQ(third, "0\ta/b c.jpg\t3\t3\t1\t12.25\t0.1");
  std::filesystem::remove(path);
}

TEST(PredictionsFile, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(message_of("hello\n"), "'FILE' is not a predictions file: its first line must be '# quench predictions 1'");
  EXPECT_EQ(message_of("# quench predictions 1\n1\t2\n"),
            "expected 7 fields between tabs, found 2\n  in line 2 of FILE");
  EXPECT_EQ(message_of("# quench predictions 1\n# x\n1\tn\tthree\t1\t1\t0\t0\n"),
            "'three' is not a number\n  in line 3 of FILE");
  EXPECT_ERROR(read_predictions("/no/such/file"), "cannot read the predictions '/no/such/file'", "No such file");
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

TEST(MeasurementsFile, ReadsBackWhatItWrites) {
  const std::string path = temporary("measurements.tsv");
  const EvalResult wanted = two_items();
  write_measurements(path, wanted);
  EXPECT_EQ(kind_of_results(path), ResultsFile::kMeasurements);
  const EvalResult found = read_measurements(path);
  EXPECT_EQ(found.items, 2);
  EXPECT_EQ(found.indices, wanted.indices);
  EXPECT_EQ(found.names, wanted.names);
  ASSERT_EQ(found.metrics.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(found.metrics[i].name, wanted.metrics[i].name);
    EXPECT_EQ(found.metrics[i].items, wanted.metrics[i].items);
  }
  write_predictions(path, {});
  EXPECT_EQ(kind_of_results(path), ResultsFile::kPredictions);
  EXPECT_ERROR(read_measurements(path), "is not a measurements file: its first line must be '# quench measurements 1'");
  std::ofstream(path) << "\x08\x07 some model";
  EXPECT_EQ(kind_of_results(path), ResultsFile::kNeither);
  std::filesystem::remove(path);
  EXPECT_ERROR(kind_of_results(path), "cannot read '");
}

TEST(MeasurementsFile, SaysWhatIsBroken) {
  const std::string path = temporary("broken.tsv"), first = "# quench measurements 1\n";
  const auto read = [&](const std::string& text) {
    std::ofstream(path) << first << text;
    read_measurements(path);
  };
  EXPECT_ERROR(read("0\ta\tmse\n"), "expected 4 fields between tabs, found 3", "in line 2 of ");
  EXPECT_ERROR(read("0\ta\tmse\t1 x\n"), "'x' is not a number");
  EXPECT_ERROR(read("0\ta\tmse\t1\n0\ta\tmse\t1\n"), "the metric 'mse' lacks an item, or has one twice");
  EXPECT_ERROR(read("0\ta\tmse\t1\n0\ta\tb\t1\n1\tc\tmse\t1\n"), "is cut short: the metric 'b' has 1 of 2 items");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace quench
