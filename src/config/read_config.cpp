#include "config/layouts.h"
#include "config/load.h"
#include "config/merge.h"
#include "config/parts.h"

namespace quench {
namespace {

JobConfig read_job(Tree tree, const std::vector<std::string>& overrides) {
  for (const std::string& text : overrides) apply_override(tree, text);
  if (tree.is_null()) fail_at(tree, "the config is empty");
  JobConfig job;
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
  return with_context([&] { return "while reading the config " + name; },
                      [&] { return read_job(load_tree_of_text(text, name), overrides); });
}

}  // namespace quench
