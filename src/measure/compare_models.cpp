#include "quench/compare_models.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <optional>

#include "convert/quantized.h"
#include "data/feed.h"
#include "data/top_classes.h"
#include "measure/apart.h"
#include "ops/integer_form.h"
#include "quench/engine.h"
#include "quench/error.h"
#include "quench/executor.h"
#include "quench/pass.h"
#include "quench/quantizers.h"
#include "quench/rt_value.h"

namespace quench {
namespace {

constexpr std::int64_t kBatch = 8, kBatchOfOthers = 32;

// How a model gives a value of the float network.
struct Source {
  std::string value;          // in the model
  std::optional<QType> type;  // of its quantizer, or of its codes
  bool codes = false;
};

class Sources {
 public:
  explicit Sources(const ComparedModel& model) : shows_(model.shows) {
    const Graph& graph = model.graph;
    for (const Value* input : graph.inputs())
      if (input->dtype() == DType::kFloat) put(*input, std::nullopt, false);
    for (const auto& node : graph.nodes())
      for (const Value* output : node->outputs())
        if (output) add(*node, *output);
  }
  const Source* find(const std::string& name) const {
    const auto at = sources_.find(name);
    return at == sources_.end() ? nullptr : &at->second;
  }
  const std::vector<std::string>& names() const { return names_; }  // in order of the graph

 private:
  std::optional<QType> type_of_codes(const Node& node) const {
    if (is_integer_op(node))
      return node.op() == "quench.Dequantize" ? std::nullopt : std::optional(integer_form(node).y);
    const auto first = node.input(0) ? types_.find(node.input(0)) : types_.end();  // what moves codes keeps their type
    return first == types_.end() ? std::nullopt : std::optional(first->second);
  }

  void add(const Node& node, const Value& output) {
    if (is_quantizer(&node)) {
      if (!node.input(0)->is_constant() && fake_quant_spec(node).scheme.is_int()) put(output, qtype_of(node), false);
    } else if (const std::optional<QType> type = type_of_codes(node); type && !is_floating(output.dtype())) {
      types_.emplace(&output, *type);
      put(output, type, true);
    } else if (output.dtype() == DType::kFloat && !is_bias_quantizer(&node)) {
      put(output, std::nullopt, false);
    }
  }

  // What is quantized takes the place of what it quantizes.
  void put(const Value& value, const std::optional<QType>& type, bool codes) {
    if (shows_ && !shows_->contains(value.name())) return;
    const std::string name = quantized_value(value.name());
    const auto [at, added] = sources_.try_emplace(name, Source{value.name(), type, codes});
    if (added) names_.push_back(name);
    if (!added && (type || !at->second.type)) at->second = {value.name(), type, codes};
  }

  const std::optional<std::set<std::string>>& shows_;
  std::map<std::string, Source> sources_;
  std::vector<std::string> names_;
  std::map<const Value*, QType> types_;
};

// One value of both, and what was found so far.
struct Pair {
  Source a, b;
  ValueDifference found;
  double sum = 0.0;  // of differences, in real numbers
  double low = 0.0, high = 0.0, largest = 0.0;
};

at::Tensor real(const NamedValues& values, const Source& source) {
  const at::Tensor& tensor = values.at(source.value).tensor();
  return (source.codes ? dequantize_reference(tensor, *source.type) : tensor).to(at::kDouble);
}

double step_of(const Pair& pair) {
  for (const Source* source : {&pair.b, &pair.a})
    if (source->type && source->type->scheme.per_tensor()) return static_cast<double>(source->type->params.scale[0]);
  return 0.0;
}

using Run = std::function<NamedValues(const NamedValues&, const std::vector<std::string>&)>;

// Integers in the engine, which gives the same codes as the executor, many times faster.
Run engine_of(const Graph& graph) {
  auto engine = std::make_shared<std::unique_ptr<Engine>>();  // made when it is known what to fetch
  return [=, &graph](const NamedValues& inputs, const std::vector<std::string>& values) {
    NamedValues result;
    std::vector<std::string> computed;
    for (const std::string& name : values)
      inputs.contains(name) ? void(result[name] = inputs.at(name)) : computed.push_back(name);
    if (!*engine) {
      Graph shown = graph;
      shown.clear_outputs();
      for (const std::string& name : computed) shown.add_output(shown.value(name));
      *engine = std::make_unique<Engine>(shown);
    }
    std::vector<RtValue> given;
    for (const Value* input : graph.inputs()) given.push_back(inputs.at(input->name()));
    const std::vector<RtValue> found = (*engine)->run(given);
    for (std::size_t i = 0; i < computed.size(); ++i) result[computed[i]] = found[i];
    return result;
  };
}

Run runner_of(const ComparedModel& model) {
  if (model.run) return model.run;
  const auto& nodes = model.graph.nodes();
  if (std::any_of(nodes.begin(), nodes.end(), [](const auto& node) { return is_integer_op(*node); }))
    return engine_of(model.graph);
  return [executor = std::make_shared<Executor>(model.graph)](const NamedValues& inputs, const auto& values) {
    return executor->run(inputs, values);
  };
}

class Comparison {
 public:
  Comparison(const ComparedModel& a, const ComparedModel& b)
      : a_(runner_of(a)), b_(runner_of(b)), output_(quantized_value(a.graph.outputs().at(0)->name())) {
    const Sources in_a(a), in_b(b);
    for (const std::string& name : in_a.names()) {
      const Source *one = in_a.find(name), *other = in_b.find(name);
      if (!other) continue;
      Pair pair;
      pair.a = *one, pair.b = *other;
      pair.found.name = name;
      pair.found.step = step_of(pair);
      pair.found.quantized = pair.found.step > 0.0;
      pairs_.push_back(std::move(pair));
      fetch_a_.push_back(one->value);
      fetch_b_.push_back(other->value);
    }
    const bool any = std::any_of(pairs_.begin(), pairs_.end(), [&](const Pair& pair) {
      return !a.graph.value(pair.a.value).is_input() || pair.b.type;
    });
    QUENCH_CHECK(any, "the two models have no value in common: they were made from different networks");
    note_missing(a.graph, in_b, result_.only_a);
    note_missing(b.graph, in_a, result_.only_b);
  }

  void add(const Fed& fed) {
    const NamedValues in_a = a_(fed.inputs, fetch_a_), in_b = b_(fed.inputs, fetch_b_);
    for (Pair& pair : pairs_)
      with_context([&] { return concat("at '", pair.found.name, "'"); },
                   [&] { add(pair, rows(real(in_a, pair.a), fed), rows(real(in_b, pair.b), fed)); });
    result_.items += fed.items;
  }

  ModelComparison result() {
    for (Pair& pair : pairs_) {
      ValueDifference& found = pair.found;
      if (!found.quantized) found.step = std::max((pair.high - pair.low) / 255, 1e-30);
      found.largest = pair.largest / found.step;
      found.mean = found.elements == 0 ? 0.0 : pair.sum / found.step / static_cast<double>(found.elements);
      result_.values.push_back(found);
    }
    return std::move(result_);
  }

 private:
  static void note_missing(const Graph& graph, const Sources& other, std::vector<std::string>& missing) {
    for (const Value* output : graph.outputs())
      if (!other.find(quantized_value(output->name()))) missing.push_back(output->name());
  }

  // Without the copies that fill a batch of fixed size.
  static at::Tensor rows(const at::Tensor& x, const Fed& fed) {
    return x.dim() > 0 && x.size(0) == fed.rows ? x.narrow(0, 0, fed.items) : x;
  }

  void add(Pair& pair, const at::Tensor& a, const at::Tensor& b) {
    QUENCH_CHECK(a.sizes() == b.sizes(), "the two models give it in the shapes ", a.sizes(), " and ", b.sizes());
    if (a.numel() == 0) return;
    const at::Tensor distance = apart(a, b);
    pair.found.elements += distance.numel();
    pair.sum += distance.sum().item<double>();
    pair.largest = std::max(pair.largest, distance.max().item<double>());
    const at::Tensor finite = a.nan_to_num(0.0, 0.0, 0.0);
    pair.low = std::min(pair.low, finite.min().item<double>());
    pair.high = std::max(pair.high, finite.max().item<double>());
    const double step = pair.found.quantized ? pair.found.step : (pair.high - pair.low) / 255;
    pair.found.different += distance.gt(step / 2).sum().item<std::int64_t>();
    if (pair.found.name == output_ && a.dim() == 2 && a.size(1) > 1) {
      result_.predictions += a.size(0);
      result_.equal_top1 += top_class(a.to(at::kFloat)).eq(top_class(b.to(at::kFloat))).sum().item<std::int64_t>();
    }
  }

  Run a_, b_;
  std::string output_;
  std::vector<Pair> pairs_;
  std::vector<std::string> fetch_a_, fetch_b_;
  ModelComparison result_;
};

void check_inputs(const Graph& a, const Graph& b) {
  const auto names = [](const Graph& graph) {
    std::vector<std::string> all;
    for (const Value* input : graph.inputs()) all.push_back(input->name());
    std::sort(all.begin(), all.end());
    return all;
  };
  QUENCH_CHECK(names(a) == names(b), "the two models have different inputs: they were made from different networks");
}

// In a deployed file what is quantized is the result of a pair of nodes. What stands in front of it has another meaning
// there: a Relu that the codes do anyway is gone.
Graph with_pairs_joined(Graph graph) {
  const auto is_pair = [](const auto& node) { return node->op() == "DequantizeLinear"; };
  if (std::any_of(graph.nodes().begin(), graph.nodes().end(), is_pair)) run_passes(graph, {"qdq_to_fake_quant"});
  return graph;
}

}  // namespace

double ModelComparison::largest() const {
  double most = 0.0;
  for (const ValueDifference& value : values) most = std::max(most, value.largest);
  return most;
}

ModelComparison compare_models(const Graph& a, const Graph& b, const Dataset& data, const CompareOptions& options) {
  const Graph one = with_pairs_joined(a), other = with_pairs_joined(b);
  return compare_models(ComparedModel{one}, ComparedModel{other}, data, options);
}

ModelComparison compare_models(const ComparedModel& a, const ComparedModel& b, const Dataset& data,
                               const CompareOptions& options) {
  check_inputs(a.graph, b.graph);
  Comparison comparison(a, b);
  FeedOptions how;
  how.batch = options.batch;
  how.otherwise = a.run || b.run ? kBatchOfOthers : kBatch;
  how.workers = options.workers;
  Feed feed(a.graph, data, how);
  std::int64_t done = 0;
  while (const std::optional<Fed> fed = feed.next()) {
    comparison.add(*fed);
    done += fed->items;
    if (options.progress) options.progress(done, feed.size());
  }
  QUENCH_CHECK(done > 0, "the data is empty: there is nothing to compare");
  return comparison.result();
}

}  // namespace quench
