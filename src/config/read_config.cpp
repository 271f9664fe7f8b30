#include <algorithm>
#include <filesystem>

#include "config/layouts.h"
#include "config/load.h"
#include "config/map_reader.h"
#include "config/merge.h"
#include "config/parts.h"
#include "quench/plugin.h"

namespace quench {
namespace {

namespace fs = std::filesystem;

bool has_any(const Tree& tree, std::initializer_list<const char*> keys) {
  return std::any_of(keys.begin(), keys.end(), [&](const char* key) { return tree.find(key) != nullptr; });
}

bool is_mmrazor(const Tree& tree) {
  const Tree* model = tree.find("model");
  return (model && has_any(*model, {"quantizer", "architecture"})) ||
         has_any(tree, {"global_qconfig", "test_cfg", "train_cfg", "val_cfg", "deploy_cfg", "optim_wrapper",
                        "default_scope", "_scope_", "model_wrapper_cfg", "data_preprocessor"});
}

bool is_mqbench(const Tree& tree) {
  return has_any(tree, {"extra_prepare_dict", "prepare_custom_config_dict", "quantize", "quant", "extra_qconfig_dict",
                        "extra_quantizer_dict", "extra_fuse_dict", "preserve_attr", "concrete_args", "concrect_args",
                        "leaf_module"});
}

// As those of `_base_`, the files that a config is made of lie beside the one that names them; an override has the
// working folder.
std::string path_of_plugin(const Tree& named) {
  const fs::path path = named.text;
  if (path.is_absolute() || named.line == 0 || !named.source) return named.text;
  return (fs::path(*named.source).parent_path() / path).string();
}

// In any layout, and before all else: other keys may hold names that a plug-in registers.
std::vector<std::string> load_plugins(Tree& tree) {
  const Tree* given = tree.is_map() ? tree.find("plugins") : nullptr;
  if (!given) return {};
  texts_of(*given, "plugins");  // throws for what is neither a text nor a list of texts
  const std::vector<Tree> named = given->is_list() ? given->items : std::vector<Tree>{*given};
  std::vector<std::string> files;
  for (const Tree& one : named) {
    files.push_back(path_of_plugin(one));
    at_place(one, [&] { load_plugin(files.back()); });
  }
  tree.erase("plugins");
  return files;
}

// `method` is a key of our own, whatever the layout.
std::string placed(const std::string& override, bool is_foreign) {
  const bool is_method = override.starts_with("method.") || override.starts_with("method=");
  return is_foreign && is_method ? "quench." + override : override;
}

JobConfig read_job(Tree tree, const std::vector<std::string>& overrides) {
  const bool is_foreign = !tree.find("version") && (is_mmrazor(tree) || is_mqbench(tree));
  for (const std::string& text : overrides) apply_override(tree, placed(text, is_foreign));
  if (tree.is_null()) fail_at(tree, "the config is empty");
  JobConfig job;
  job.plugins = load_plugins(tree);
  if (tree.find("version"))
    read_own(tree, "", job);
  else if (is_mmrazor(tree))
    read_mmrazor(tree, job);
  else if (is_mqbench(tree))
    read_mqbench(tree, job);
  else
    read_own(tree, "", job);
  return job;
}

}  // namespace

JobConfig read_config(const std::string& path, const std::vector<std::string>& overrides) {
  return with_context([&] { return "while reading the config " + path; },
                      [&] { return read_job(load_tree(path), overrides); });
}

JobConfig config_from_text(const std::string& text, const std::vector<std::string>& overrides,
                           const std::string& name) {
  return with_context([&] { return "while reading " + name; },
                      [&] { return read_job(load_tree_of_text(text, name), overrides); });
}

}  // namespace quench
