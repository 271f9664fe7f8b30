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

}  // namespace
}  // namespace quench
