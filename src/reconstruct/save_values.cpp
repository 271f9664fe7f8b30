// What MQBench's save_inp_oup_data gives: inputs and outputs of a layer or block over a whole data set.
#include <ATen/ATen.h>

#include "data/feed.h"
#include "quench/executor.h"
#include "quench/reconstruct.h"

namespace quench {

std::map<std::string, at::Tensor> save_values(const Graph& graph, const Dataset& data,
                                              const std::vector<std::string>& values) {
  Executor executor(graph);
  Feed feed(graph, data, {});
  std::map<std::string, std::vector<at::Tensor>> parts;
  while (const std::optional<Fed> fed = feed.next())
    for (const auto& [name, value] : executor.run(fed->inputs, values)) {
      const bool is_padded = fed->rows > fed->items && value.tensor().dim() > 0 && value.tensor().size(0) == fed->rows;
      parts[name].push_back(is_padded ? value.tensor().narrow(0, 0, fed->items) : value.tensor());
    }
  std::map<std::string, at::Tensor> saved;
  for (const auto& [name, tensors] : parts) saved[name] = at::cat(tensors);
  return saved;
}

}  // namespace quench
