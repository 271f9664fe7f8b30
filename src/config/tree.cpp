#include "config/tree.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>

namespace quench {

Tree::Tree() = default;
Tree::Tree(const Tree& other) = default;
Tree::Tree(Tree&& other) noexcept = default;
Tree& Tree::operator=(const Tree& other) = default;
Tree& Tree::operator=(Tree&& other) noexcept = default;
Tree::~Tree() = default;

namespace {

void emit(YAML::Emitter& out, const Tree& tree) {
  switch (tree.kind) {
    case Tree::Kind::kNull: out << YAML::Null; break;
    case Tree::Kind::kText:
      if (tree.quoted) out << YAML::DoubleQuoted;
      out << tree.text;
      break;
    case Tree::Kind::kList:
      out << YAML::Flow << YAML::BeginSeq;
      for (const Tree& item : tree.items) emit(out, item);
      out << YAML::EndSeq;
      break;
    case Tree::Kind::kMap:
      out << YAML::Flow << YAML::BeginMap;
      for (const auto& [key, value] : tree.entries) {
        out << YAML::Key << key << YAML::Value;
        emit(out, value);
      }
      out << YAML::EndMap;
      break;
  }
}

}  // namespace

const Tree* Tree::find(const std::string& key) const {
  const auto at = std::find_if(entries.begin(), entries.end(), [&](const auto& entry) { return entry.first == key; });
  return at == entries.end() ? nullptr : &at->second;
}

Tree* Tree::find(const std::string& key) { return const_cast<Tree*>(std::as_const(*this).find(key)); }

void Tree::erase(const std::string& key) {
  std::erase_if(entries, [&](const auto& entry) { return entry.first == key; });
}

std::string Tree::where() const {
  if (!source) return "in the config";
  return line == 0 ? concat("in '", *source, "'") : concat("at line ", line, " of ", *source);
}

std::string one_line(const Tree& tree) {
  YAML::Emitter out;
  out.SetStringFormat(YAML::Auto);
  emit(out, tree);
  std::string text = out.c_str();
  std::replace(text.begin(), text.end(), '\n', ' ');  // the emitter breaks long flow maps
  return text;
}

}  // namespace quench
