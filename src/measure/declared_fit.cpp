#include "measure/declared_fit.h"

#include <algorithm>

#include "data/batch_size.h"
#include "quench/error.h"

namespace quench {
namespace {

// Its name, for a message; the item may be broken.
std::string item_name(const Dataset& data, std::int64_t index) {
  try {
    return data.get(index).name;
  } catch (const Error&) {
    return std::to_string(index);
  }
}

// All scores of an item; -1: not known.
std::int64_t declared_classes(const Graph& graph, const Value& output) {
  if (!output.has_rank() || output.rank() < 2 || output.dims()[0] != batch_dim(graph)) return -1;
  std::int64_t classes = 1;
  for (std::size_t i = 1; i < output.dims().size(); ++i) {
    if (!output.dims()[i].is_number()) return -1;
    classes *= output.dims()[i].number();
  }
  return classes;
}

}  // namespace

void check_item_axis(const Graph& graph, const Value& output, std::int64_t rows) {
  const Dim batch = batch_dim(graph);
  if (rows <= 1 || !batch.is_symbol() || !output.has_rank() || output.rank() == 0) return;
  const auto& dims = output.dims();
  if (dims[0] == batch) return;
  const bool is_elsewhere = std::find(dims.begin() + 1, dims.end(), batch) != dims.end();
  const bool is_fixed = dims[0].is_number() && dims[0].number() == rows;
  QUENCH_CHECK(!is_elsewhere && !is_fixed, "the output '", output.name(), "' is ", output.type().text(),
               ": its first axis is not the batch ", batch.text(), ", so items cannot be told apart in a batch of ",
               rows, "; use a batch of 1");
}

void check_labels(const Graph& graph, const Value& output, const Dataset& data) {
  const std::int64_t classes = declared_classes(graph, output);
  if (classes < 0) return;
  const std::vector<std::int64_t> labels = data.labels();
  const auto wrong =
      std::find_if(labels.begin(), labels.end(), [&](std::int64_t label) { return label < 0 || label >= classes; });
  if (wrong == labels.end()) return;
  fail("item '", item_name(data, wrong - labels.begin()), "' has label ", *wrong, ", but the model has ", classes,
       " classes");
}

}  // namespace quench
