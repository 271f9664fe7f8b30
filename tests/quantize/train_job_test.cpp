// quantize() of a job that trains.
#include <gtest/gtest.h>

#include <algorithm>

#include "qat/quarters_net.h"
#include "quench/quantize.h"

namespace quench {
namespace {

Graph with_dropout() {
  Graph graph = untrained();
  Value& output = *graph.outputs()[0];
  graph.replace_uses(output, graph.add("Dropout", "drop", {&output}).output());
  return graph;
}

std::vector<std::string> notes_of(const Graph& graph) {
  JobConfig job;
  job.quant.platform = "tensorrt_qdq";
  job.train = quick();
  job.train->max_steps = 1;
  QuantizeData data(items());
  data.train = &items();
  return quantize(graph, data, job).record.notes;
}

TEST(TrainJob, SaysThatItTrainsWithoutDropout) {
  const std::string said = "1 Dropout node taken out of the network: it trains without dropout";
  const std::vector<std::string> dropped = notes_of(with_dropout()), plain = notes_of(untrained());
  EXPECT_EQ(std::count(dropped.begin(), dropped.end(), said), 1);
  EXPECT_EQ(std::count(plain.begin(), plain.end(), said), 0);
}

// At this rate all that the network has learned is gone after a step.
TEST(TrainJob, WarnsWhereTrainingDidNotHelp) {
  JobConfig job;
  job.quant.platform = "tensorrt_qdq";
  job.train = quick();
  job.train->max_steps = 2;
  job.train->optimizer.lr = 10;
  QuantizeData data(items());
  data.train = &items();
  data.validation = &others();
  std::vector<std::string> said;
  QuantizeOptions options;
  options.warned = [&](const std::string& warning) { said.push_back(warning); };
  const QuantizeRecord record = quantize(net(), data, job, options).record;
  ASSERT_EQ(record.warnings.size(), 1U);
  EXPECT_NE(record.warnings[0].find("training did not help"), std::string::npos) << record.warnings[0];
  EXPECT_EQ(said, record.warnings);
}

}  // namespace
}  // namespace quench
