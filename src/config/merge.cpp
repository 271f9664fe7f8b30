#include "config/merge.h"

#include <algorithm>
#include <charconv>

namespace quench {
namespace {

constexpr const char* kDelete = "_delete_";

bool is_on(const Tree& flag) { return flag.text == "true" || flag.text == "True"; }

void drop_delete_marks(Tree& tree) {
  tree.erase(kDelete);
  for (auto& [key, value] : tree.entries) drop_delete_marks(value);
  for (Tree& item : tree.items) drop_delete_marks(item);
}

std::vector<std::string> split(const std::string& path, const std::string& text) {
  std::vector<std::string> keys(1);
  for (const char c : path)
    if (c == '.')
      keys.emplace_back();
    else
      keys.back() += c;
  const bool has_empty = std::any_of(keys.begin(), keys.end(), [](const std::string& key) { return key.empty(); });
  QUENCH_CHECK(!has_empty, "'", text, "' has an empty key; write a.b=value");
  return keys;
}

Tree& item_at(Tree& list, const std::string& key, const std::string& text) {
  std::size_t index = 0;
  const auto [stop, error] = std::from_chars(key.data(), key.data() + key.size(), index);
  const bool fits = error == std::errc() && stop == key.data() + key.size() && index <= list.items.size();
  QUENCH_CHECK(fits, "'", text, "': '", key, "' is not an index into a list of ", list.items.size(), "; give 0 to ",
               list.items.size(), " (which appends)");
  if (index == list.items.size()) list.items.emplace_back();
  return list.items[index];
}

Tree& entry_at(Tree& map, const std::string& key) {
  if (Tree* found = map.find(key)) return *found;
  Tree made;
  made.source = map.source;
  made.line = map.line;
  return map.entries.emplace_back(key, std::move(made)).second;
}

Tree& step_into(Tree& tree, const std::string& key, const Tree& value, const std::string& text) {
  if (tree.is_list()) return item_at(tree, key, text);
  if (tree.is_null()) {
    tree.kind = Tree::Kind::kMap;
    tree.source = value.source;
    tree.line = value.line;
  }
  QUENCH_CHECK(tree.is_map(), "'", text, "': '", key, "' cannot be set, because it would be inside the value '",
               tree.text, "'");
  return entry_at(tree, key);
}

void clear_lines(Tree& tree) {
  tree.line = 0;
  for (auto& [key, value] : tree.entries) clear_lines(value);
  for (Tree& item : tree.items) clear_lines(item);
}

}  // namespace

void merge(Tree& base, Tree over) {
  const Tree* mark = over.is_map() ? over.find(kDelete) : nullptr;
  if (!base.is_map() || !over.is_map() || (mark && is_on(*mark))) {
    drop_delete_marks(over);
    base = std::move(over);
    return;
  }
  for (auto& [key, value] : over.entries) {
    if (key == kDelete) continue;
    if (Tree* found = base.find(key)) {
      merge(*found, std::move(value));
    } else {
      drop_delete_marks(value);
      base.entries.emplace_back(key, std::move(value));
    }
  }
}

void apply_override(Tree& root, const std::string& text) {
  const std::size_t equals = text.find('=');
  QUENCH_CHECK(equals != std::string::npos && equals > 0, "'", text, "' sets nothing; write a.b=value");
  Tree value = parse_tree(text.substr(equals + 1), text);
  clear_lines(value);
  value.source = std::make_shared<const std::string>(text);
  Tree* at = &root;
  for (const std::string& key : split(text.substr(0, equals), text)) at = &step_into(*at, key, value, text);
  merge(*at, std::move(value));
}

}  // namespace quench
