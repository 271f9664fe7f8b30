// mmrazor's model.quantizer and its tracer, docs/config.md 4.
#include "config/aliases.h"
#include "config/mmrazor.h"
#include "config/torch_types.h"
#include "core/joined.h"

namespace quench {
namespace {

void read_tracer(MapReader map, JobConfig& job) {
  map.find("type");
  for (const char* key : {"skipped_methods", "skipped_module_names", "skipped_module_classes"}) {
    const std::vector<std::string> names = map.texts(key);
    if (names.empty()) continue;
    job.metadata[key] = joined(names, ",");
    note(job, concat("'", map.path_of(key), "' matters when a module is traced; a model file holds none"));
  }
  map.finish();
}

// Classes that torch does not have (heads, losses) are not operators: they are named, and cannot be found in a graph.
void read_unobserved(MapReader& map, JobConfig& job) {
  const Tree* classes = map.find("no_observer_modules");
  if (!classes) return;
  std::vector<std::string> others;
  for (const std::string& type : texts_of(*classes, map.path_of("no_observer_modules"))) {
    try {
      for (const std::string& op : operators_of(type)) job.quant.excluded_ops.push_back(op);
    } catch (const Error&) {
      others.push_back(type);
    }
  }
  if (others.empty()) return;
  job.metadata["no_observer_modules"] = joined(others, ",");
  note(job, concat("'", map.path_of("no_observer_modules"), "': ", joined(others),
                   " are classes of a module; name their layers under 'quench.excluded_nodes'"));
}

// Eight lists: what comes before or after a module, function, method or kind of node keeps no quantizer.
void read_redundant(MapReader map, JobConfig& job) {
  std::vector<std::string> before, after;
  for (const char* kind : {"module", "function", "method", "op"})
    for (const char* side : {"prev", "next"}) {
      const std::string key = concat("extra_", kind, "_", side, "_wo_fakequant");
      const Tree* types = map.find(key);
      if (!types) continue;
      std::vector<std::string>& to = side == std::string("prev") ? before : after;
      for (const std::string& type : texts_of(*types, map.path_of(key))) {
        if (type == "output" || type == "placeholder") continue;  // kinds of node; the platform sees to them
        for (std::string& op : at_place(*types, [&] { return operators_of(type); })) to.push_back(std::move(op));
      }
    }
  map.finish();
  if (!before.empty()) job.quant.platform_options.set("no_quantizer_before", joined(before, ","));
  if (!after.empty()) job.quant.platform_options.set("no_quantizer_after", joined(after, ","));
}

}  // namespace

void apply_global_qconfig(MapReader map, JobConfig& job) {
  const MmrazorQConfig qconfig = read_qconfig(std::move(map), true, job);
  job.quant.weight = qconfig.weight;
  job.quant.activation = qconfig.activation;
}

void read_quantizer(MapReader map, JobConfig& job) {
  if (const auto type = map.text("type")) set_platform(job, *map.find("type"), without_scope(*type));
  if (auto qconfig = map.map("global_qconfig")) apply_global_qconfig(*qconfig, job);
  if (auto mapping = map.map("qconfig_mapping")) read_qconfig_mapping(*mapping, job);
  if (auto tracer = map.map("tracer")) read_tracer(*tracer, job);
  read_unobserved(map, job);
  if (auto redundant = map.map("extra_redundant_fakequants")) read_redundant(*redundant, job);
  skip(job, map, {"is_qat"}, "has no effect");
  map.finish();
}

}  // namespace quench
