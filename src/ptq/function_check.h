// Whether a network still computes the same after its weights were rescaled.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quench/data.h"
#include "quench/graph.h"
#include "quench/rt_value.h"

namespace quench {

constexpr std::int64_t kCheckedItems = 2;  // enough to tell

// What to check on: the first few items of the data, or random numbers (integers: 0) if there is none.
std::vector<RtValue> check_inputs(const Graph& graph, const Dataset* data);

class FunctionCheck {
 public:
  // Remembers these values and the outputs as the graph computes them now.
  FunctionCheck(const Graph& graph, std::vector<RtValue> inputs, const std::vector<std::string>& values);

  struct Difference {
    std::string value;
    double found = 0.0;  // root mean square of the difference over that of the value
    double bound = 0.0;  // what float32 explains: 2^-24 for each term of the sums that lead here, all of one sign
    bool broken() const { return !(found <= bound); }
  };
  // In order of the graph. `factors`: tensors that a value is multiplied with first, where it was scaled itself.
  std::vector<Difference> compare(const Graph& graph, const std::map<std::string, at::Tensor>& factors) const;

 private:
  struct Kept {
    std::string name;
    double bound;
  };
  using See = std::function<void(const std::string& name, const at::Tensor& tensor)>;
  void run(const Graph& graph, const See& see) const;

  std::vector<RtValue> inputs_;
  std::vector<Kept> values_;  // in order of the graph
  std::map<std::string, at::Tensor> before_;
};

}  // namespace quench
