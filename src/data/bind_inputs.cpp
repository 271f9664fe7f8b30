// bind_inputs: from what a batch holds to what each input of a graph takes.
#include <ATen/ATen.h>

#include "core/joined.h"
#include "data/batch_size.h"
#include "data/bind_inputs.h"
#include "graph/tensor_types.h"

namespace quench {
namespace {

std::string names_of(const NamedValues& values) {
  return joined(values, ", ", [](const auto& one) { return in_quotes(one.first); });
}

// The graph's inputs that the data set must give for every item.
std::vector<const Value*> open_inputs(const Graph& graph, const NamedValues& shared) {
  std::vector<const Value*> open;
  for (const Value* input : graph.inputs())
    if (!shared.contains(input->name())) open.push_back(input);
  return open;
}

// Throws for data of a name that no input has.
void check_names(const Graph& graph, const NamedValues& given) {
  for (const auto& [name, value] : given) {
    const Value* found = graph.find_value(name);
    QUENCH_CHECK(found && found->is_input(), "the data's '", name, "' (", value.type().text(),
                 ") fits no input of the model, which takes ", input_list(graph));
  }
}

const RtValue& value_for(const Value& input, const NamedValues& given) {
  const auto found = given.find(input.name());
  if (found != given.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [name, value] : given) names.push_back(name);
  const std::string nearest = nearest_name(input.name(), names);
  fail("the model's input '", input.name(), "' (", input.type().text(), ") has no data; the data gives ",
       names_of(given), nearest.empty() ? "" : concat("; the nearest is '", nearest, "'"), " (docs/data.md)");
}

// Floats to floats and integers to integers; what else differs, the executor refuses.
RtValue cast(const Value& input, const RtValue& value) {
  const DType from = value.dtype(), to = input.dtype();
  const bool alike = (is_floating(from) && is_floating(to)) || (is_integer(from) && is_integer(to));
  if (from == to || !alike) return value;
  const at::Tensor& given = value.tensor();
  const at::Tensor made = given.to(scalar_type_of(to));
  QUENCH_CHECK(is_floating(to) || made.to(given.scalar_type()).equal(given), "the data for the input '", input.name(),
               "' is ", name_of(from), " and holds numbers that ", name_of(to), " does not");
  return {made, to};
}

// The last item repeated up to a multiple of the batch that the input fixes.
at::Tensor fill_up(const at::Tensor& items, std::int64_t fixed) {
  const std::int64_t missing = fixed > 0 ? (fixed - items.size(0) % fixed) % fixed : 0;
  if (missing == 0) return items;
  std::vector<std::int64_t> repeats(static_cast<std::size_t>(items.dim()), 1);
  repeats[0] = missing;
  return at::cat({items, items.narrow(0, items.size(0) - 1, 1).repeat(repeats)});
}

RtValue bind_one(const Value& input, const RtValue& stacked, std::int64_t fill) {
  const RtValue value = cast(input, stacked);
  const at::Tensor& items = value.tensor();
  if (!is_whole(input, items.dim() - 1))
    return {fill_up(items, first_dim(input) > 0 ? first_dim(input) : fill), value.dtype()};
  QUENCH_CHECK(items.size(0) == 1, "an item of the data is a whole '", input.name(), "' (", input.type().text(),
               "), so that ", items.size(0), " items cannot be fed at once: use a batch of 1");
  return {items.squeeze(0), value.dtype()};
}

}  // namespace

std::string input_list(const Graph& graph) {
  if (graph.inputs().empty()) return "none";
  return joined(graph.inputs(), ", ",
                [](const Value* input) { return concat("'", input->name(), "' (", input->type().text(), ")"); });
}

NamedValues name_values(const Graph& graph, const InputValues& given, const NamedValues& shared) {
  check_names(graph, shared);
  const std::vector<const Value*> open = open_inputs(graph, shared);
  if (!given.values().empty() && !given.has_names()) {
    QUENCH_CHECK(open.size() == 1, "the data gives one value without a name, but the model has ", open.size(),
                 " inputs to fill: ", input_list(graph),
                 "; name data for each of them (npz:, or as=NAME and with=FILE; docs/data.md)");
    return {{open[0]->name(), given.only()}};
  }
  // One array of any name is for the only input.
  if (open.size() == 1 && given.values().size() == 1) return {{open[0]->name(), given.only()}};
  NamedValues named;
  for (const Value* input : open) named[input->name()] = value_for(*input, given.values());
  check_names(graph, given.values());
  return named;
}

NamedValues name_values(const Graph& graph, const InputValues& item, const Dataset& data) {
  NamedValues given = item.values(), elsewhere = data.shared();
  for (const auto& [input, output] : data.feedback().states) {
    given.erase(input);
    elsewhere.try_emplace(input);
  }
  return name_values(graph, given, elsewhere);
}

bool is_whole(const Value& input, std::int64_t item_rank) {
  return input.has_rank() && static_cast<std::int64_t>(input.rank()) == item_rank;
}

NamedValues bind_inputs(const Graph& graph, const Batch& batch) { return bind_filled(graph, batch, 0); }

NamedValues bind_filled(const Graph& graph, const Batch& batch, std::int64_t fill) {
  NamedValues bound = name_values(graph, batch.inputs, batch.shared);
  for (auto& [name, value] : bound) value = bind_one(graph.value(name), value, fill);
  for (const auto& [name, value] : batch.shared) bound[name] = cast(graph.value(name), value);
  return bound;
}

}  // namespace quench
