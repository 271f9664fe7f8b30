// What MQBench's save_inp_oup_data gives: inputs and outputs of a layer or block over a whole data set.
#include <ATen/ATen.h>

#include "core/counted.h"
#include "data/feed.h"
#include "quench/error.h"
#include "quench/executor.h"
#include "quench/reconstruct.h"
#include "reconstruct/flow.h"

namespace quench {
namespace {

// By its dims as well: an axis of 32 channels cannot be told from a batch of 32 by its size.
void check_is_row(const Flow& flow, const Value& value, const at::Tensor& tensor, std::int64_t rows) {
  const bool says_first_dim = value.has_rank() && value.rank() > 0 && !value.dims()[0].is_unknown();
  const bool is_row = tensor.dim() > 0 && tensor.size(0) == rows && (!says_first_dim || flow.is_row(value));
  QUENCH_CHECK(is_row, "'", value.name(), "' cannot be stacked over items: its first axis does not count them (it is ",
               tensor.sizes(), " for ", counted(rows, "item"), "); take a value in front of what moves the ",
               "items, or run item by item with an Executor");
}

}  // namespace

std::map<std::string, at::Tensor> save_values(const Graph& graph, const Dataset& data,
                                              const std::vector<std::string>& values) {
  Executor executor(graph);
  const Flow flow(graph);
  Feed feed(graph, data, {});
  std::map<std::string, std::vector<at::Tensor>> parts;
  while (const std::optional<Fed> fed = feed.next())
    for (const auto& [name, value] : executor.run(fed->inputs, values)) {
      check_is_row(flow, graph.value(name), value.tensor(), fed->rows);
      parts[name].push_back(value.tensor().narrow(0, 0, fed->items));  // without what pads a batch of fixed size
    }
  std::map<std::string, at::Tensor> saved;
  for (const auto& [name, tensors] : parts) saved[name] = at::cat(tensors);
  return saved;
}

}  // namespace quench
