// quench inspect: the graph as a table, as JSON, or in its stable text form.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "cli/command.h"
#include "cli/load_model.h"
#include "cli/quant_options.h"
#include "core/joined.h"
#include "core/split.h"
#include "measure/model_summary.h"
#include "quench/error.h"
#include "quench/quantized_model.h"
#include "quench/reconstruct.h"
#include "report/reconstruct_text.h"
#include "report/table.h"

namespace quench {
namespace {

struct Arguments {
  std::string model;
  bool text = false, data = false, raw = false;
  DimBindings dims;
  ImportOptions import;
  std::string why, units;
  QuantArguments quant;
};

constexpr const char* kQuantFlags = "--platform, --config, --set, --cfg-options, --bits and --parity";

std::string opsets_text(const Graph& graph) {
  return joined(graph.source.opsets, ", ",
                [](const auto& opset) { return concat(opset.first.empty() ? "" : opset.first + " ", opset.second); });
}

// " (at N=1)" where the inputs have symbols.
std::string at_dims(const Graph& graph, const DimBindings& dims) {
  std::string text;
  for (const std::string& symbol : input_symbols(graph))
    if (const auto chosen = dims.find(symbol); chosen != dims.end())
      text += concat(text.empty() ? " (at " : ", ", symbol, "=", chosen->second);
  return text.empty() ? "" : text + ")";
}

std::string macs_text(const NodeSummary& node) {
  if (node.macs < 0) return "?";
  return node.macs == 0 ? "" : grouped(node.macs);
}

void print_head(const Graph& graph, const ModelSummary& summary) {
  std::cout << "model     " << (graph.source.path.empty() ? graph.name : graph.source.path) << "\n";
  if (!graph.name.empty()) std::cout << "graph     " << graph.name << "\n";
  if (!graph.source.producer.empty()) std::cout << "producer  " << graph.source.producer << "\n";
  if (!graph.source.opsets.empty())
    std::cout << "opset     " << opsets_text(graph) << " (IR version " << graph.source.ir_version << ")\n";
  for (const ValueSummary& input : summary.inputs)
    std::cout << "input     " << input.name << ": " << input.type << "\n";
  for (const ValueSummary& output : summary.outputs)
    std::cout << "output    " << output.name << ": " << output.type << "\n";
  std::cout << "\n";
}

void print_nodes(const ModelSummary& summary) {
  const std::vector<Column> columns = {
      {"name", 40}, {"op", 24}, {"output", 32}, {"parameters", 16, true}, {"MACs", 18, true}};
  std::vector<std::vector<std::string>> rows;
  for (const NodeSummary& node : summary.nodes) {
    const std::string op = node.supported ? node.op : node.op + " (!)";
    rows.push_back(
        {node.name, op, joined(node.outputs), node.parameters == 0 ? "" : grouped(node.parameters), macs_text(node)});
  }
  std::cout << table_text(columns, rows) << "\n";
}

void print_totals(const Graph& graph, const ModelSummary& summary) {
  std::vector<std::string> ops;
  for (const auto& [op, count] : summary.op_counts) ops.push_back(concat(op, " ", count));
  std::cout << "nodes       " << summary.nodes.size() << ": " << joined(ops) << "\n"
            << "parameters  " << grouped(summary.parameters) << "\n"
            << "constants   " << size_text(summary.constant_bytes) << "\n"
            << "MACs        " << grouped(summary.macs) << at_dims(graph, summary.dims);
  if (summary.macs_unknown > 0) std::cout << ", without " << summary.macs_unknown << " nodes whose work is not known";
  std::cout << "\n";
  if (summary.unsupported.empty()) return;
  std::cout << "\nnot supported, marked (!): this model can be looked at but not run\n";
  for (const auto& [op, count] : summary.unsupported) std::cout << "  " << op << "  (" << count << " nodes)\n";
}

Json named_dims(const Graph& graph, const DimBindings& dims) {
  Json object = Json::object();
  for (const std::string& symbol : input_symbols(graph))
    if (const auto chosen = dims.find(symbol); chosen != dims.end()) object[symbol] = chosen->second;
  return object;
}

Json json_of(const std::vector<ValueSummary>& values) {
  Json list = Json::array();
  for (const ValueSummary& value : values) list.push_back({{"name", value.name}, {"type", value.type}});
  return list;
}

Json json_of(const Graph& graph, const ModelSummary& summary, bool cleaned) {
  Json nodes = Json::array();
  for (const NodeSummary& node : summary.nodes) {
    nodes.push_back({{"name", node.name},
                     {"op", node.op},
                     {"outputs", node.outputs},
                     {"parameters", node.parameters},
                     {"macs", node.macs < 0 ? Json() : Json(node.macs)},
                     {"supported", node.supported}});
  }
  return {{"model", graph.source.path},
          {"name", graph.name},
          {"producer", graph.source.producer},
          {"ir_version", graph.source.ir_version},
          {"opsets", graph.source.opsets},
          {"metadata", graph.metadata},
          {"cleaned", cleaned},
          {"inputs", json_of(summary.inputs)},
          {"outputs", json_of(summary.outputs)},
          {"node_count", summary.nodes.size()},
          {"parameters", summary.parameters},
          {"constant_bytes", summary.constant_bytes},
          {"macs", summary.macs},
          {"macs_unknown", summary.macs_unknown},
          {"dims", named_dims(graph, summary.dims)},
          {"ops", summary.op_counts},
          {"unsupported", summary.unsupported},
          {"nodes", nodes}};
}

// From the plan that the model was quantized with, or from one made for it now.
void print_why(const Arguments& options, bool json) {
  const Graph graph = load_model(options.model, options.import);
  const bool planned = holds_plan(graph);
  QUENCH_CHECK(planned || !options.quant.platform.empty(), "the model carries no plan; --platform NAME makes one");
  QUENCH_CHECK(!planned || !says_something(options.quant), "the model was quantized with a plan, which says all: omit ",
               kQuantFlags);
  const QuantPlan plan = planned ? plan_in(graph) : plan_model(graph, planning_job_of(options.quant));
  const std::string answer = explain(plan, options.why);
  if (json)
    print_json({{"value", options.why}, {"platform", plan.platform}, {"answer", answer}});
  else
    std::cout << answer << "\n";
}

// "block", or names of layers or units: "conv1,layer1.0".
UnitOptions unit_options(const std::string& text, const Graph& graph) {
  if (text == "block" || text == "layer") return {text, {}};
  std::vector<std::string> names = split(text, ',');
  for (std::string& name : names) {
    name.erase(0, name.find_first_not_of(' '));
    name.erase(name.find_last_not_of(' ') + 1);
  }
  const auto is_unit = [&](const char* pattern) {
    const std::vector<Unit> units = find_units(graph, {pattern, {}});
    return std::any_of(units.begin(), units.end(), [&](const Unit& unit) { return unit.name == names[0]; });
  };
  const bool is_pattern = names.size() == 1 && !graph.find_node(names[0]) && !is_unit("block") && !is_unit("layer");
  if (is_pattern) return {text, {}};  // a misspelled one
  return {"block", names};
}

void inspect(const Arguments& options, bool json) {
  if (!options.why.empty()) return print_why(options, json);
  QUENCH_CHECK(!says_something(options.quant), kQuantFlags, " are for --why TENSOR: nothing is quantized here");
  QUENCH_CHECK(!(options.text && json), "--text and --json cannot be given together");
  QUENCH_CHECK(options.text || !options.data, "--data is for --text: it prints large tensors in full");
  const LoadedModel model = load_model_to_look_at(options.model, options.raw, options.import);
  if (!options.units.empty()) {
    const std::vector<Unit> units = find_units(model.graph, unit_options(options.units, model.graph));
    if (json) return print_json(json_of(units));
    std::cout << units_text(units);
    return;
  }
  if (options.text) {
    TextOptions text;
    text.data = options.data;
    std::cout << to_text(model.graph, text) << std::flush;
    return;
  }
  const ModelSummary summary = summarize(model.graph, options.dims);
  if (json) {
    print_json(json_of(model.graph, summary, model.cleaned));
    return;
  }
  print_head(model.graph, summary);
  print_nodes(summary);
  print_totals(model.graph, summary);
}

}  // namespace

void add_inspect(CLI::App& app, CommandLine& command_line) {
  auto options = std::make_shared<Arguments>();
  CLI::App& command = add_command(app, command_line, "inspect", "what is in a model: nodes, shapes, parameters, MACs");
  command.add_option("model", options->model, "the model file (.onnx, .pt2, .pt)")->required();
  command.add_flag("--text", options->text, "the stable text form instead (docs/formats.md)");
  command.add_flag("--data", options->data, "with --text: large tensors in full, so that it can be read back");
  command.add_flag("--raw", options->raw, "as imported: shapes inferred, nothing folded or removed");
  add_dim_option(command, options->dims);
  add_input_shape_option(command, options->import);
  command.add_option("--why", options->why, "why this tensor is quantized, or stays float")->type_name("TENSOR");
  command
      .add_option(
          "--units", options->units,
          "show the units that reconstruction works on instead: block (the default), layer, or names of units, or of "
          "layers that end one, with commas")
      ->type_name("PATTERN")
      ->expected(0, 1)
      ->default_str("block");
  add_quant_options(command, options->quant);
  command.callback([&command_line, options] {
    command_line.action = [&command_line, options] { inspect(*options, command_line.common.json); };
  });
}

}  // namespace quench
