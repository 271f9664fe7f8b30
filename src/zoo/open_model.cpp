#include "quench/open_model.h"

#include <ATen/ATen.h>

#include <filesystem>

#include "quench/data.h"
#include "quench/state_dict.h"
#include "quench/torch.h"
#include "quench/zoo_net.h"
#include "zoo/zoo_weights.h"

namespace quench {
namespace {

bool is_zoo(const std::string& text) { return text.starts_with("zoo:"); }

DatasetSpec zoo_spec(const std::string& text) {
  QUENCH_CHECK(text != "zoo:" && !text.starts_with("zoo:?"), "the model '", text,
               "' has no name; write zoo:NAME, or zoo:NAME?weights=FILE ('quench list zoo')");
  return parse_spec(text);
}

void check_options(const DatasetSpec& spec) {
  static const std::vector<std::string> known = {"weights", "num_classes", "in_channels", "size", "seed"};
  for (const auto& [key, value] : spec.options)
    if (std::find(known.begin(), known.end(), key) == known.end())
      fail_unknown_name("option of a zoo model", key, known);
}

// OpenMMLab's checkpoints say which part a tensor is of: "backbone.conv1.weight", "head.fc.bias".
TensorMap without_parts(const TensorMap& state) {
  TensorMap plain;
  for (const auto& [name, tensor] : state) {
    const bool is_part = name.starts_with("backbone.") || name.starts_with("head.");
    if (!is_part) return state;
    plain.emplace(name.substr(name.find('.') + 1), tensor);
  }
  return plain;
}

Graph open_zoo(const DatasetSpec& spec) {
  check_options(spec);
  const ZooEntry& entry = ZooRegistry::instance().get(spec.path);
  ZooOptions options;
  options.num_classes = integer_option(spec, "num_classes", 1).value_or(0);
  options.in_channels = integer_option(spec, "in_channels", 1).value_or(0);
  options.seed = static_cast<std::uint64_t>(integer_option(spec, "seed", 0).value_or(0));
  const std::shared_ptr<ZooNet> net = make_zoo_model(spec.path, options);
  if (const auto weights = text_option(spec, "weights"))
    load_zoo_weights(spec.path, *net, without_parts(read_state_dict(*weights)));
  const std::int64_t size = integer_option(spec, "size", 1).value_or(entry.image_size);
  const std::int64_t channels = options.in_channels == 0 ? entry.in_channels : options.in_channels;
  net->eval();
  ModuleImportOptions importing;
  importing.name = spec.path;
  Graph graph = from_module(*net, {at::zeros({1, channels, size, size})}, importing).clone();
  graph.source.format = "zoo";
  graph.source.path = to_string(spec);
  return graph;
}

}  // namespace

Graph open_model(const std::string& text, const ImportOptions& options) {
  if (!is_zoo(text)) return import_model(text, options);
  return with_context([&] { return concat("while opening the model '", text, "'"); },
                      [&] { return open_zoo(zoo_spec(text)); });
}

std::string name_of_model(const std::string& text) {
  return is_zoo(text) ? zoo_spec(text).path : std::filesystem::path(text).stem().string();
}

std::string file_of_model(const std::string& text) {
  if (!is_zoo(text)) return text;
  return text_option(zoo_spec(text), "weights").value_or("");
}

}  // namespace quench
