#pragma once

#include <memory>
#include <vector>

#include "engine/batch.h"
#include "engine/builder.h"

namespace quench {

// One shape of the inputs, compiled for a number of threads, with a frame for each caller.
struct Compiled {
  Graph graph;
  TaskList program;
  std::vector<std::unique_ptr<Frame>> frames;
  std::vector<std::vector<double>> seconds;  // by frame and step

  Compiled(const Graph& of, const std::vector<Dims>& inputs, int threads, PackedWeights& weights,
           const std::vector<Watch>& watches)
      : graph(with_input_dims(of, inputs)) {
    const ThreadLimit limit(threads);
    program = Builder(graph, weights, watches).build();
  }

  Frame& frame(std::size_t number) {
    while (frames.size() <= number) {
      frames.push_back(std::make_unique<Frame>(program, graph));
      seconds.emplace_back(program.steps.size(), 0.0);
    }
    return *frames[number];
  }
};

}  // namespace quench
