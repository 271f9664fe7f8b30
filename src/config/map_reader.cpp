#include "config/map_reader.h"

#include <algorithm>
#include <charconv>

#include "core/joined.h"
#include "quench/registry.h"

namespace quench {
namespace {

std::string what_is(const Tree& tree) {
  switch (tree.kind) {
    case Tree::Kind::kNull: return "nothing";
    case Tree::Kind::kText: return "'" + tree.text + "'";
    case Tree::Kind::kList: return "a list";
    case Tree::Kind::kMap: return "a map";
  }
  return "";
}

[[noreturn]] void fail_type(const Tree& tree, const std::string& path, const std::string& wanted) {
  fail_at(tree, "'", path, "' must be ", wanted, ", not ", what_is(tree));
}

template <typename Number>
std::optional<Number> parsed(const Tree& tree) {
  Number number{};
  const char* begin = tree.text.data();
  const char* end = begin + tree.text.size();
  if (begin != end && *begin == '+') ++begin;
  const auto [stop, error] = std::from_chars(begin, end, number);
  if (!tree.is_text() || error != std::errc() || stop != end) return std::nullopt;
  return number;
}

// As YAML 1.1, which Python's reader follows.
std::optional<bool> parsed_flag(const Tree& tree) {
  std::string word = tree.is_text() ? tree.text : "";
  std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::tolower(c); });
  if (word == "true" || word == "yes" || word == "on") return true;
  if (word == "false" || word == "no" || word == "off") return false;
  return std::nullopt;
}

// "a, b": what a list is on the command line.
std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text)
    if (c == ',')
      parts.emplace_back();
    else if (c != ' ' || !parts.back().empty())
      parts.back() += c;
  return parts;
}

}  // namespace

std::string text_of(const Tree& tree, const std::string& path) {
  if (!tree.is_text()) fail_type(tree, path, "a text");
  return tree.text;
}

bool flag_of(const Tree& tree, const std::string& path) {
  const std::optional<bool> flag = parsed_flag(tree);
  if (!flag) fail_type(tree, path, "true or false");
  return *flag;
}

double number_of(const Tree& tree, const std::string& path) {
  const auto number = parsed<double>(tree);
  if (!number) fail_type(tree, path, "a number");
  return *number;
}

std::int64_t integer_of(const Tree& tree, const std::string& path, std::int64_t least) {
  const auto number = parsed<std::int64_t>(tree);
  if (!number || *number < least) fail_type(tree, path, concat("a whole number, at least ", least));
  return *number;
}

std::vector<std::string> texts_of(const Tree& tree, const std::string& path) {
  if (tree.is_text()) return tree.quoted ? std::vector<std::string>{tree.text} : split(tree.text);
  if (!tree.is_list()) fail_type(tree, path, "a list of texts");
  std::vector<std::string> texts;
  for (const Tree& item : tree.items) {
    if (!item.is_text()) fail_type(item, path, "a list of texts");
    texts.push_back(item.text);
  }
  return texts;
}

OptionValue option_of(const Tree& tree, const std::string& path) {
  if (tree.is_list()) return joined(texts_of(tree, path), ",");
  if (!tree.is_text()) fail_type(tree, path, "a number, a word, true or false");
  if (tree.quoted) return tree.text;
  if (const auto number = parsed<double>(tree)) return *number;
  if (tree.text.size() > 3)  // "on" and "off" are words that options have
    if (const auto flag = parsed_flag(tree)) return *flag ? 1.0 : 0.0;
  return tree.text;
}

Options options_of(const Tree& tree, const std::string& path) {
  if (!tree.is_map()) fail_type(tree, path, "a map of options");
  return MapReader(tree, path).rest_options();
}

MapReader::MapReader(const Tree& tree, std::string path) : tree_(tree), path_(std::move(path)) {
  if (!tree.is_map()) fail_type(tree, path_.empty() ? "the config" : path_, "a map");
}

std::string MapReader::path_of(const std::string& key) const { return path_.empty() ? key : path_ + "." + key; }

const Tree* MapReader::find(const std::string& key) {
  known_.insert(key);
  const Tree* found = tree_.find(key);
  return found && !found->is_null() ? found : nullptr;
}

const Tree* MapReader::find_any(std::initializer_list<const char*> names) {
  const Tree* first = nullptr;
  std::string first_name;
  for (const char* name : names) {
    const Tree* found = find(name);
    if (found && first)
      fail_at(*found, "'", path_of(name), "' and '", path_of(first_name), "' mean the same; give one");
    if (found) first = found, first_name = name;
  }
  return first;
}

std::optional<MapReader> MapReader::map(const std::string& key) {
  const Tree* found = find(key);
  return found ? std::optional<MapReader>(std::in_place, *found, path_of(key)) : std::nullopt;
}

std::optional<std::string> MapReader::text(const std::string& key) {
  const Tree* found = find(key);
  return found ? std::optional(text_of(*found, path_of(key))) : std::nullopt;
}

std::optional<std::string> MapReader::choice(const std::string& key, const std::vector<std::string>& choices) {
  const std::optional<std::string> word = text(key);
  if (!word || std::find(choices.begin(), choices.end(), *word) != choices.end()) return word;
  fail_type(*find(key), path_of(key), joined(choices, " | "));
}

std::optional<bool> MapReader::flag(const std::string& key) {
  const Tree* found = find(key);
  return found ? std::optional(flag_of(*found, path_of(key))) : std::nullopt;
}

std::optional<double> MapReader::number(const std::string& key) {
  const Tree* found = find(key);
  return found ? std::optional(number_of(*found, path_of(key))) : std::nullopt;
}

std::optional<std::int64_t> MapReader::integer(const std::string& key, std::int64_t least) {
  const Tree* found = find(key);
  return found ? std::optional(integer_of(*found, path_of(key), least)) : std::nullopt;
}

std::vector<std::string> MapReader::texts(const std::string& key) {
  const Tree* found = find(key);
  return found ? texts_of(*found, path_of(key)) : std::vector<std::string>();
}

std::vector<std::vector<std::string>> MapReader::chains(const std::string& key) {
  std::vector<std::vector<std::string>> chains;
  const Tree* found = find(key);
  if (!found) return chains;
  if (!found->is_list()) fail_type(*found, path_of(key), "a list of lists of names, [[conv1, bn1, relu1], ...]");
  for (const Tree& chain : found->items) {
    if (!chain.is_list()) fail_type(chain, path_of(key), "a list of lists of names, [[conv1, bn1, relu1], ...]");
    chains.push_back(texts_of(chain, path_of(key)));
  }
  return chains;
}

std::optional<Options> MapReader::options(const std::string& key) {
  const Tree* found = find(key);
  return found ? std::optional(options_of(*found, path_of(key))) : std::nullopt;
}

std::vector<std::string> MapReader::rest() {
  std::vector<std::string> keys;
  for (const auto& [key, value] : tree_.entries)
    if (known_.insert(key).second) keys.push_back(key);
  return keys;
}

Options MapReader::rest_options() {
  Options options;
  for (const std::string& key : rest())
    if (const Tree* value = find(key)) options.set(key, option_of(*value, path_of(key)));
  return options;
}

void MapReader::finish() const {
  for (const auto& [key, value] : tree_.entries) {
    if (known_.contains(key)) continue;
    const std::string kind = path_.empty() ? "key" : "key of '" + path_ + "'";
    at_place(value, [&] { fail_unknown_name(kind.c_str(), key, {known_.begin(), known_.end()}); });
  }
}

}  // namespace quench
