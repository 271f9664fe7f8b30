// Compares two runs of one network, output by output: a real runtime with the simulation, a deployed file with the
// model it was made from.
#pragma once

#include <cstdint>
#include <string>

namespace quench {

// How far outputs may be apart, in steps of the output. A *prediction* is one vector of
// scores: an item's, or a position's (a text, an image of classes).
struct OutputBounds {
  double mean = 4.0;        // of all elements
  double steps = 24.0;      // of a prediction's farthest element; a change of top-1 must lie within twice that
  double share = 0.01;      // of predictions that may be off by more than `steps`
  double largest = 64.0;    // of any element
  double accuracy = 0.002;  // by which the share of right predictions may fall, given labels
};

// What was found for one output: the runtime's (or a file's) less the simulation's.
struct OutputResult {
  std::string name;
  double step = 0.0;  // of its codes; of one that is not quantized, 1/255 of the simulation's range
  bool quantized = false;
  bool probabilities = false;  // of a Softmax: compared by their logarithms
  bool discrete = false;       // integers: equal or not
  double largest = 0.0, mean = 0.0;
  double largest_whole = 0.0;    // with layers: from the integer network's
  std::int64_t predictions = 0;  // vectors of scores
  std::int64_t beyond = 0;       // those of them that are off by more than the bound
  std::int64_t changed = 0;      // another top-1
  std::int64_t decisive = 0;     // though the first of the simulation leads by more than differences within the bound
                                 // can make up for
  double steps(double difference) const;
};

}  // namespace quench
