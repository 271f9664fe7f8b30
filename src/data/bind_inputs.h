// Which of a data set's values goes to which input of a graph, before anything is stacked or cast.
#pragma once

#include <string>

#include "quench/data.h"
#include "quench/graph.h"

namespace quench {

// "'ids' (int64[N, 8]), 'mask' (...)"
std::string input_list(const Graph& graph);

// Of an item or a batch, by the graph's names, without those that are shared. Throws as bind_inputs.
NamedValues name_values(const Graph& graph, const InputValues& given, const NamedValues& shared);

// Of an item of the data: without the recurrent states, too.
NamedValues name_values(const Graph& graph, const InputValues& item, const Dataset& data);

// As bind_inputs; where the graph takes any batch, the last item is repeated up to a multiple of `fill` (0: it is not).
NamedValues bind_filled(const Graph& graph, const Batch& batch, std::int64_t fill);

// Whether an item of this rank is all that the input takes: then there is no axis to stack items along.
bool is_whole(const Value& input, std::int64_t item_rank);

}  // namespace quench
