#include "import/pt2/names.h"

#include "quench/error.h"

namespace quench {
namespace {

// The second of "key,path,type".
std::string path_of(const std::string& entry) {
  const std::size_t first = entry.find(',');
  if (first == std::string::npos) return "";
  const std::size_t second = entry.find(',', first + 1);
  const std::string path = entry.substr(first + 1, second == std::string::npos ? second : second - first - 1);
  return path.starts_with("_empty_nn_module_stack") ? "" : path;
}

bool is_call(const Pt2Node& node) {
  return node.target.starts_with("torch.ops.") && node.target.find(".sym_") == std::string::npos &&
         node.target.find("._assert") == std::string::npos;
}

std::string last_entry(const std::string& stack) {
  const std::size_t last = stack.rfind(';');
  return last == std::string::npos ? stack : stack.substr(last + 1);
}

// "L__self__act", "L__self__act@1" when the module is called again.
std::string key_of(const std::string& stack) {
  const std::string entry = last_entry(stack);
  return entry.substr(0, entry.find(','));
}

}  // namespace

std::string innermost_module(const std::string& stack) { return path_of(last_entry(stack)); }

Pt2Names::Pt2Names(const Pt2Program& program) {
  for (const Pt2Node& node : program.nodes)
    if (is_call(node)) ++calls_[key_of(node.modules)];
}

std::string Pt2Names::name_of(const Pt2Node& node, const std::string& kind, const std::string& owner) const {
  const std::string module = innermost_module(node.modules);
  const auto calls = calls_.find(key_of(node.modules));
  if (!module.empty() && calls != calls_.end() && calls->second == 1) return module;
  if (!owner.empty()) return owner;
  const std::string op = kind.substr(kind.rfind(':') + 1);
  return module.empty() ? op : concat(module, ".", op);
}

}  // namespace quench
