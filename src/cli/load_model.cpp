#include "cli/load_model.h"

#include <CLI/CLI.hpp>

#include "quench/error.h"
#include "quench/evaluate.h"
#include "quench/op.h"
#include "quench/open_model.h"
#include "quench/pass.h"

namespace quench {
namespace {

void count_unsupported(const Graph& graph, std::map<std::string, int>& counts) {
  for (const auto& node : graph.nodes()) {
    if (!OpRegistry::instance().find(node->op())) ++counts[node->op()];
    for (const auto& [name, attr] : node->attrs)
      if (const GraphPtr* body = std::get_if<GraphPtr>(&attr)) count_unsupported(**body, counts);
  }
}

void clean_up(Graph& graph, const std::string& path) {
  with_context([&] { return "while cleaning up " + path; }, [&] { run_passes(graph, cleanup_passes()); });
}

TypeInfo input_type_of(const std::string& text) {
  try {
    return parse_input_shape(text);
  } catch (const Error& error) {
    throw CLI::ValidationError("--input-shape", error.message());
  }
}

}  // namespace

void add_input_shape_option(CLI::App& command, ImportOptions& options) {
  command
      .add_option_function<std::vector<std::string>>(
          "--input-shape",
          [&options](const std::vector<std::string>& given) {
            for (const std::string& text : given) options.inputs.push_back(input_type_of(text));
          },
          "TorchScript files: the shape of an input, such as 1,3,224,224 or 1,128:int64; repeatable")
      ->type_name("SHAPE")
      ->allow_extra_args(false);
}

Graph load_model(const std::string& path, const ImportOptions& options) {
  Graph graph = open_model(path, options);
  clean_up(graph, path);
  return graph;
}

LoadedModel load_model_to_look_at(const std::string& path, bool raw, ImportOptions options) {
  options.allow_unsupported = true;
  LoadedModel loaded{open_model(path, options), {}, false};
  count_unsupported(loaded.graph, loaded.unsupported);
  if (raw || !loaded.unsupported.empty()) return loaded;
  clean_up(loaded.graph, path);
  loaded.cleaned = true;
  return loaded;
}

std::vector<std::string> doubts_about_weights(const std::string& model) {
  if (!file_of_model(model).empty()) return {};
  return {concat("the weights of '", model, "' are random; weights=FILE loads trained ones: '", model,
                 model.find('?') == std::string::npos ? "?" : "&", "weights=FILE'")};
}

std::unique_ptr<Dataset> open_data(const std::string& text, std::int64_t limit, const Graph& graph) {
  DatasetSpec spec = parse_spec(text);
  if (limit > 0) {
    QUENCH_CHECK(!spec.options.contains("limit"), "limit= in the data and --limit cannot be given together");
    spec.options["limit"] = std::to_string(limit);
  }
  return open_dataset(spec, graph);
}

}  // namespace quench
