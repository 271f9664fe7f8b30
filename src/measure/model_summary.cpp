#include "measure/model_summary.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <optional>
#include <set>

#include "ops/integer_form.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

// Types of everything after the inputs, as far as the operators are known.
void infer_what_can_be(Graph& graph) {
  for (const auto& node : graph.nodes()) {
    const OpEntry* entry = OpRegistry::instance().find(node->op());
    if (!entry || !entry->shapes) continue;
    with_context([&] { return concat("while inferring the shapes of ", node->where()); },
                 [&] { entry->shapes(*node); });
  }
}

// Weights are floats, or codes of at most 8 bits. Wider integers are shapes, axes and indices; running
// statistics are not learned.
bool is_weight(const Value& value, const OpTraits& traits, int slot) {
  const auto holds = [slot](const std::vector<int>& slots) {
    return std::find(slots.begin(), slots.end(), slot) != slots.end();
  };
  if (!value.is_constant() || holds(traits.host_slots) || holds(traits.buffer_slots)) return false;
  const DType dtype = value.dtype();
  return is_floating(dtype) || (is_integer(dtype) && bits_of(dtype) <= 8);
}

// Of an operator on codes its constant operands and its bias, not what says how to read them.
bool is_weight_of_codes(const Node& node, int slot) {
  const Value* value = node.input(slot);
  if (!value || !value->is_constant()) return false;
  if (node.op() == "quench.Dequantize") return slot == 0;  // a weight that a float layer reads
  if (float_op(node).empty()) return false;
  const int result = 3 * (static_cast<int>(node.get_strings("schemes", {}).size()) - 1);
  return slot < result ? slot % 3 == 0 : slot == result + 2;
}

std::int64_t bytes_in_file(const Value& constant) {
  constexpr std::int64_t kBitsOfAByte = 8;
  return (constant.tensor().numel() * bits_of(constant.dtype()) + kBitsOfAByte - 1) / kBitsOfAByte;
}

class Summarizer {
 public:
  explicit Summarizer(ModelSummary& summary) : summary_(summary) {}

  // `bound` has the same nodes as `graph`, with numbers in place of symbols.
  void add(const Graph& graph, const Graph& bound, const std::string& prefix) {
    for (const Value* constant : graph.constants())
      if (seen_bytes_.insert(constant).second) summary_.constant_bytes += bytes_in_file(*constant);
    auto twin = bound.nodes().begin();
    for (const auto& node : graph.nodes()) {
      add_node(*node, **twin++, prefix);
      add_bodies(*node, prefix);
    }
  }

 private:
  void add_node(const Node& node, const Node& bound, const std::string& prefix) {
    const OpEntry* entry = OpRegistry::instance().find(node.op());
    NodeSummary row;
    row.name = prefix + node.name();
    row.op = node.op();
    row.supported = entry != nullptr;
    for (const Value* output : node.outputs())
      if (output) row.outputs.push_back(output->type().text());
    row.parameters = parameters_of(node, entry ? entry->traits : OpTraits());
    row.macs = !entry ? -1 : entry->traits.macs ? entry->traits.macs(bound) : 0;
    ++summary_.op_counts[row.op];
    if (!row.supported) ++summary_.unsupported[row.op];
    summary_.parameters += row.parameters;
    if (row.macs < 0)
      ++summary_.macs_unknown;
    else
      summary_.macs += row.macs;
    summary_.nodes.push_back(std::move(row));
  }

  // How often a body runs is not known: its nodes are shown, its work is not.
  void add_bodies(const Node& node, const std::string& prefix) {
    for (const auto& [name, attr] : node.attrs) {
      if (const GraphPtr* body = std::get_if<GraphPtr>(&attr)) add(**body, **body, prefix + node.name() + "/");
    }
  }

  std::int64_t parameters_of(const Node& node, const OpTraits& traits) {
    std::int64_t count = 0;
    for (std::size_t slot = 0; slot < node.inputs().size(); ++slot) {
      const Value* value = node.inputs()[slot];
      const auto at = static_cast<int>(slot);
      const bool is_one = is_integer_op(node) ? is_weight_of_codes(node, at) : value && is_weight(*value, traits, at);
      if (!is_one) continue;
      if (counted_.insert(value).second) count += value->tensor().numel();
    }
    return count;
  }

  ModelSummary& summary_;
  std::set<const Value*> counted_, seen_bytes_;
};

constexpr std::int64_t kLargestDim = 4096;

// What an unnamed dim is called among the chosen ones: it has no symbol of its own.
constexpr const char* kUnnamed = "?";

// Each symbol of the inputs as given, else `batch` (a first dim) or `size`.
DimBindings chosen_dims(const Graph& graph, const DimBindings& given, std::int64_t batch, std::int64_t size) {
  DimBindings chosen = given;
  for (const Value* input : graph.inputs())
    if (input->has_rank() && input->rank() > 0 && input->dims()[0].is_symbol())
      chosen.try_emplace(input->dims()[0].symbol(), batch);
  for (const std::string& symbol : input_symbols(graph)) chosen.try_emplace(symbol, size);
  chosen.try_emplace(kUnnamed, size);
  return chosen;
}

// "H = 4096, W = 2"
std::string dims_text(const DimBindings& dims) {
  std::string text;
  for (const auto& [name, number] : dims)
    if (name != kUnnamed) text += concat(text.empty() ? "" : ", ", name, " = ", number);
  return text;
}

Graph bound_graph(const Graph& graph, const DimBindings& dims) {
  Graph bound = graph;
  for (Value* input : bound.inputs()) {
    if (!input->has_rank()) continue;
    Dims numbers = input->dims();
    for (Dim& dim : numbers)
      if (!dim.is_number()) dim = dims.at(dim.is_symbol() ? dim.symbol() : kUnnamed);
    input->set_type(TypeInfo::tensor(input->dtype(), numbers));
  }
  infer_what_can_be(bound);
  return bound;
}

std::vector<ValueSummary> summaries_of(const std::vector<Value*>& values) {
  std::vector<ValueSummary> result;
  for (const Value* value : values) result.push_back({value->name(), value->type().text()});
  return result;
}

}  // namespace

std::vector<std::string> input_symbols(const Graph& graph) {
  std::set<std::string> symbols;
  for (const Value* input : graph.inputs()) {
    if (!input->has_rank()) continue;
    for (const Dim& dim : input->dims())
      if (dim.is_symbol()) symbols.insert(dim.symbol());
  }
  return {symbols.begin(), symbols.end()};
}

DimBindings fitting_dims(const Graph& graph, const DimBindings& dims) {
  const std::vector<std::string> symbols = input_symbols(graph);
  for (const auto& [name, number] : dims) {
    if (!std::binary_search(symbols.begin(), symbols.end(), name)) fail_unknown_name("dimension", name, symbols);
    QUENCH_CHECK(number >= 0, "dimension '", name, "' must not be negative: ", number);
  }
  std::optional<Error> largest;  // no window is too small any more: what still fails was given, or cannot be chosen
  for (const bool with_batch : {false, true})
    for (std::int64_t size = 1; size <= kLargestDim; size *= 2) {
      const DimBindings chosen = chosen_dims(graph, dims, with_batch ? size : 1, size);
      try {
        bound_graph(graph, chosen);
        return chosen;
      } catch (Error& error) {
        if (dims.size() == symbols.size()) throw;  // nothing is left to be chosen
        if (!with_batch)
          largest = error.add_context(concat("with ", dims_text(chosen), "; smaller ones do not fit either"));
      }
    }
  throw *largest;
}

Graph bind_dims(const Graph& graph, const DimBindings& dims) { return bound_graph(graph, fitting_dims(graph, dims)); }

ModelSummary summarize(const Graph& graph, const DimBindings& dims) {
  ModelSummary summary;
  summary.inputs = summaries_of(graph.inputs());
  summary.outputs = summaries_of(graph.outputs());
  Graph bound = graph;
  try {
    summary.dims = fitting_dims(graph, dims);
    bound = bound_graph(graph, summary.dims);
  } catch (const Error&) {
    if (!dims.empty()) throw;  // else the symbols stay: what the work is then is not known
  }
  Summarizer(summary).add(graph, bound, "");
  return summary;
}

}  // namespace quench
