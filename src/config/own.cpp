// quench's own schema, docs/config.md.
#include <algorithm>

#include "config/layouts.h"
#include "config/parts.h"
#include "core/joined.h"
#include "quench/import.h"
#include "quench/metric.h"

namespace quench {
namespace {

template <typename T, typename U>
void set(T& field, const std::optional<U>& given) {
  if (given) field = static_cast<T>(*given);
}

void append(std::vector<std::string>& to, const std::vector<std::string>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

void read_version(MapReader& map, JobConfig& job) {
  const auto version = map.integer("version", 1);
  if (version && *version > 1)
    fail_at(*map.find("version"), "the config has version ", *version, "; this quench reads version 1");
  set(job.version, version);
}

// One shape, as a text or a list of numbers, or a list of such.
void read_input_shapes(MapReader& map, JobConfig& job) {
  const Tree* given = map.find("input_shape");
  if (!given) return;
  const auto is_number = [](const Tree& tree) {
    return tree.is_text() && tree.text.find_first_not_of("0123456789") == std::string::npos;
  };
  const bool several = given->is_list() && !std::all_of(given->items.begin(), given->items.end(), is_number);
  const auto read = [&](const Tree& tree) {
    const std::string shape = tree.is_list() ? joined(texts_of(tree, "input_shape"), ",") : tree.text;
    try {
      parse_input_shape(shape);
    } catch (const Error& error) {
      fail_at(tree, "'", map.path_of("input_shape"), "': ", error.message());
    }
    job.input_shapes.push_back(shape);
  };
  if (!several) return read(*given);
  for (const Tree& shape : given->items) read(shape);
}

void read_data(MapReader map, JobData& data) {
  if (const Tree* calib = map.find("calib")) data.calib = read_spec(*calib, map.path_of("calib"));
  if (const Tree* eval = map.find("eval")) data.eval = read_spec(*eval, map.path_of("eval"));
  if (const Tree* train = map.find("train")) data.train = read_spec(*train, map.path_of("train"));
  if (const Tree* val = map.find("val")) data.val = read_spec(*val, map.path_of("val"));
  map.finish();
}

// A list of specs such as mse:output=logits, or of maps with 'name' and the options.
void read_metrics(MapReader& map, JobConfig& job) {
  const Tree* given = map.find("metrics");
  if (!given) return;
  const std::string path = map.path_of("metrics");
  if (!given->is_list()) fail_at(*given, "'", path, "' must be a list of metrics, such as [top5, mse:output=logits]");
  for (const Tree& one : given->items) {
    if (!one.is_text() && !one.is_map())
      fail_at(one, "'", path, "' must hold specs such as mse:output=logits, or maps with 'name' and the options");
    std::string text = one.is_text() ? one.text : "";
    if (one.is_map()) {
      MapReader metric(one, path);
      text = metric.text("name").value_or("");
      if (text.empty()) fail_at(one, "'", metric.path_of("name"), "' is missing ('quench list metrics')");
      char before = ':';
      for (const std::string& key : metric.rest()) {
        text += concat(before, key, "=", joined(texts_of(*one.find(key), metric.path_of(key)), ","));
        before = ',';
      }
    }
    at_place(one, [&] { return parse_metric(text); });
    job.metrics.push_back(text);
  }
}

void read_defaults(MapReader map, QuantConfig& quant) {
  if (auto weight = map.map("weight")) read_settings(*weight, quant.weight);
  if (auto activation = map.map("activation")) read_settings(*activation, quant.activation);
  if (auto bias = map.map("bias")) read_settings(*bias, quant.bias);
  map.finish();
}

LayerRule read_rule(MapReader map) {
  LayerRule rule;
  set(rule.match, map.text("match"));
  set(rule.op, map.text("op"));
  set(rule.keep_float, map.flag("float"));
  if (auto weight = map.map("weight")) read_settings(*weight, rule.weight);
  if (auto activation = map.map("activation")) read_settings(*activation, rule.activation);
  if (auto output = map.map("output")) read_settings(*output, rule.output);
  map.finish();
  const bool says_something =
      map.tree().find("float") || !rule.weight.empty() || !rule.activation.empty() || !rule.output.empty();
  if (rule.match.empty() && rule.op.empty())
    fail_at(map.tree(), "a rule needs 'match' (a name or a pattern of names) or 'op' (an operator)");
  if (!says_something)
    fail_at(map.tree(), "the rule ", rule.text(),
            " says nothing; give 'weight', 'activation', 'output' or 'float: true'");
  return rule;
}

void read_rules(MapReader& map, JobConfig& job) {
  const Tree* layers = map.find("layers");
  if (!layers) return;
  if (!layers->is_list())
    fail_at(*layers, "'", map.path_of("layers"), "' must be a list of rules, - {match: ..., ...}");
  for (const Tree& rule : layers->items) {
    const std::string path = concat(map.path_of("layers"), ".", &rule - layers->items.data());
    job.quant.layers.push_back(read_rule({rule, path}));
    job.rule_places[job.quant.layers.back().text()] = rule.where();
  }
}

void read_quant(MapReader& map, JobConfig& job) {
  QuantConfig& quant = job.quant;
  set(quant.parity, map.flag("parity"));
  set(quant.float_fallback, map.flag("float_fallback"));
  set(quant.platform_options, map.options("platform_options"));
  if (auto defaults = map.map("defaults")) read_defaults(*defaults, quant);
  read_rules(map, job);
  append(quant.additional_ops, map.texts("additional_ops"));
  append(quant.additional_nodes, map.texts("additional_nodes"));
  append(quant.excluded_ops, map.texts("excluded_ops"));
  append(quant.excluded_nodes, map.texts("excluded_nodes"));
  for (auto& chain : map.chains("fuse")) quant.fuse.push_back(std::move(chain));
  for (auto& chain : map.chains("fuse_patterns")) quant.fuse_patterns.push_back(std::move(chain));
}

void read_calibration(MapReader map, JobConfig& job) {
  CalibrationOptions& options = job.calibration;
  set(options.batch, map.integer("batch", 1));
  set(options.batches, map.integer("batches", 1));
  set(job.calibration_samples, map.integer("samples", 1));
  set(options.workers, map.integer("workers", 0));
  set(options.on_quantized, map.flag("on_quantized"));
  set(options.skip_broken, map.flag("skip_broken"));
  set(options.statistics, map.text("statistics"));
  map.finish();
}

void read_method(MapReader map, JobConfig& job) {
  const auto name = map.text("name");
  if (!name)
    fail_at(map.tree(), "'", map.path_of("name"),
            "' is missing: adaround, brecq, qdrop, blockwise, networkwise ('quench list methods')");
  job.method = make_method(*name, map.rest_options(), map.tree());
}

void read_corrections(MapReader& map, JobConfig& job) {
  set(job.equalize, map.flag("equalize"));
  set(job.smooth, map.flag("smooth"));
  if (const auto which = map.choice("bias_correction", {"none", "fast", "sequential"}))
    job.bias_correction = bias_correction_from_name(*which);
}

void read_deploy(MapReader map, JobConfig& job) {
  set(job.deploy.folder, map.text("folder"));
  set(job.deploy.name, map.text("name"));
  job.deploy.opset = map.integer("opset", 7).value_or(0);
  job.deploy.exporter = map.options("options").value_or(Options());
  map.finish();
}

// What to_yaml() writes for a config that was in another layout.
void read_record(MapReader& map, JobConfig& job) {
  set(job.layout, map.choice("layout", {"quench", "mqbench", "mmrazor"}));
  append(job.notes, map.texts("notes"));
  if (auto metadata = map.map("metadata"))
    for (const std::string& key : metadata->rest()) job.metadata[key] = text_of(*metadata->tree().find(key), key);
  const Tree* kept = map.find("kept");
  if (!kept) return;
  if (!kept->is_list()) fail_at(*kept, "'kept' must be a list");
  for (const Tree& item : kept->items) {
    MapReader entry(item, "kept");
    KeptKey key;
    const auto stage = entry.choice("stage", {"trace", "quantize", "reconstruct", "train", "deploy"});
    for (const JobStage one :
         {JobStage::kTrace, JobStage::kQuantize, JobStage::kReconstruct, JobStage::kTrain, JobStage::kDeploy})
      if (stage == name_of(one)) key.stage = one;
    set(key.key, entry.text("key"));
    set(key.value, entry.text("value"));
    set(key.where, entry.text("where"));
    entry.finish();
    job.kept.push_back(std::move(key));
  }
}

}  // namespace

void read_own(const Tree& tree, const std::string& path, JobConfig& job) {
  MapReader map(tree, path);
  read_version(map, job);
  set(job.model, map.text("model"));
  read_input_shapes(map, job);
  set(job.output, map.text("output"));
  set(job.seed, map.integer("seed", 0));
  set(job.calibration.device, map.text("device"));
  if (const auto name = map.text("platform")) set_platform(job, *map.find("platform"), *name);
  read_quant(map, job);
  if (auto data = map.map("data")) read_data(*data, job.data);
  read_metrics(map, job);
  if (auto calibration = map.map("calibration")) read_calibration(*calibration, job);
  if (auto method = map.map("method")) read_method(*method, job);
  read_corrections(map, job);
  if (auto train = map.map("train")) read_train(*train, job);
  if (auto deploy = map.map("deploy")) read_deploy(*deploy, job);
  append(job.preserve, map.texts("preserve"));
  read_record(map, job);
  map.finish();
}

}  // namespace quench
