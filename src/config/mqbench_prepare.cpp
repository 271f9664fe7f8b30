// MQBench's prepare_custom_config_dict, docs/config.md 3.
#include <algorithm>

#include "config/mqbench.h"
#include "config/torch_types.h"
#include "core/joined.h"

namespace quench {
namespace {

using Names = std::vector<std::string>;

void add_operators(MapReader& map, std::initializer_list<const char*> keys, Names& ops) {
  const Tree* types = map.find_any(keys);
  if (!types) return;
  for (const std::string& type : texts_of(*types, map.path_of(*keys.begin())))
    for (const std::string& op : at_place(*types, [&] { return operators_of(type); })) ops.push_back(op);
}

void add_names(MapReader& map, const std::string& key, Names& names) {
  for (const std::string& name : map.texts(key)) names.push_back(name);
}

void read_extra_quantizer(MapReader map, JobConfig& job) {
  QuantConfig& quant = job.quant;
  add_operators(map, {"additional_function_type"}, quant.additional_ops);
  add_operators(map, {"additional_module_type", "additional_module_typ"}, quant.additional_ops);
  add_names(map, "additional_node_name", quant.additional_nodes);
  add_names(map, "exclude_module_name", quant.excluded_nodes);
  add_operators(map, {"exclude_function_type"}, quant.excluded_ops);
  add_names(map, "exclude_node_name", quant.excluded_nodes);
  if (const auto academic = map.flag("academic_mode"))
    quant.platform_options.set("academic_mode", *academic ? 1.0 : 0.0);
  map.finish();
}

void read_chains(MapReader& map, const std::string& key, bool reversed, QuantConfig& quant) {
  const Tree* patterns = map.find(key);
  if (!patterns) return;
  if (!patterns->is_map()) fail_at(*patterns, "'", map.path_of(key), "' must be a map {(types): function}");
  for (const auto& [types, function] : patterns->entries)
    for (Names& chain : at_place(function, [&] { return operator_chains_of(types, reversed); }))
      if (std::find(quant.fuse_patterns.begin(), quant.fuse_patterns.end(), chain) == quant.fuse_patterns.end())
        quant.fuse_patterns.push_back(std::move(chain));
}

// {float module: trained module}. What trains is not another module here but the layer itself: its operator says where
// the weight is.
void read_qat_modules(const Tree& modules, JobConfig& job) {
  if (!modules.is_map()) fail_at(modules, "'extra_fuse_dict.additional_qat_module_mapping' must be a map");
  for (const auto& [type, trained] : modules.entries) at_place(trained, [&] { return operators_of(type); });
  note(job, "'extra_fuse_dict.additional_qat_module_mapping': not needed, every layer with a weight can be trained");
}

// A class that is not traced into. Torch's own never are, and a user's own is one node if it is an operator.
void read_leaves(const Tree& leaves, const std::string& key, JobConfig& job) {
  for (const std::string& type : texts_of(leaves, key))
    with_context([] { return "in C++, quench::Leaf (quench/torch.h) keeps a module opaque where it is traced"; },
                 [&] { at_place(leaves, [&] { return operators_of(type); }); });
  job.metadata["leaf_module"] = joined(texts_of(leaves, key), ",");
  note(job, "'leaf_module': leaf modules matter when a module is traced; in a model file each is one operator already");
}

void read_extra_fuse(MapReader map, JobConfig& job) {
  read_chains(map, "additional_fuser_method_mapping", false, job.quant);
  read_chains(map, "additional_fusion_pattern", true, job.quant);
  if (const Tree* modules = map.find_any({"additional_qat_module_mapping", "additional_qat_module_mappings"}))
    read_qat_modules(*modules, job);
  map.finish();
}

// {"": [attributes of the root], "backbone": [...]}: texts of the model's metadata under these names.
void read_preserved(const Tree& tree, JobConfig& job) {
  MapReader map(tree, "preserve_attr");
  for (const std::string& module : map.rest()) {
    const Tree* attributes = tree.find(module);
    if (attributes->is_null()) continue;
    for (const std::string& name : texts_of(*attributes, map.path_of(module)))
      job.preserve.push_back(module.empty() ? name : concat(module, ".", name));
  }
}

}  // namespace

void read_prepare_dict(MapReader& map, JobConfig& job) {
  if (auto qconfig = map.map("extra_qconfig_dict")) read_extra_qconfig(*qconfig, job);
  if (auto quantizer = map.map("extra_quantizer_dict")) read_extra_quantizer(*quantizer, job);
  if (auto fuse = map.map("extra_fuse_dict")) read_extra_fuse(*fuse, job);
  if (const Tree* preserved = map.find("preserve_attr")) read_preserved(*preserved, job);
  if (const Tree* leaves = map.find("leaf_module")) read_leaves(*leaves, map.path_of("leaf_module"), job);
  if (map.find_any({"concrete_args", "concrect_args"}))
    keep(job, JobStage::kTrace, map, {"concrete_args", "concrect_args"});
}

}  // namespace quench
