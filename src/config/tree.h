// What a config file holds, with the line each value came from: merged, overridden and read by the files here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "quench/error.h"

namespace quench {

struct Tree {
  Tree();  // defined elsewhere, where a pair with a Tree is complete
  Tree(const Tree& other);
  Tree(Tree&& other) noexcept;
  Tree& operator=(const Tree& other);
  Tree& operator=(Tree&& other) noexcept;
  ~Tree();

  enum class Kind : std::uint8_t { kNull, kText, kList, kMap };
  Kind kind = Kind::kNull;
  std::string text;
  bool quoted = false;                                // a quoted text is a word even where it reads as a number
  std::vector<Tree> items;                            // of a list
  std::vector<std::pair<std::string, Tree>> entries;  // of a map, in order
  std::shared_ptr<const std::string> source;          // the file, or the override
  int line = 0;                                       // 0: an override

  bool is_null() const { return kind == Kind::kNull; }
  bool is_text() const { return kind == Kind::kText; }
  bool is_list() const { return kind == Kind::kList; }
  bool is_map() const { return kind == Kind::kMap; }

  const Tree* find(const std::string& key) const;  // null when absent
  Tree* find(const std::string& key);
  void erase(const std::string& key);
  std::string where() const;  // "at line 3 of ptq.yaml"
};

// Throws the parts as an Error with the place of the tree.
template <typename... Parts>
[[noreturn]] void fail_at(const Tree& tree, const Parts&... parts) {
  throw Error(concat(parts...)).add_context(tree.where());
}

// Runs `body`; its errors get the place of the tree.
template <typename Body>
auto at_place(const Tree& tree, Body&& body) -> decltype(body()) {
  return with_context([&] { return tree.where(); }, body);
}

// YAML or JSON. Throws for text that is neither, for a key given twice, for Python objects, and for files that nest
// deeper or grow larger (through aliases) than any config does.
Tree parse_tree(const std::string& text, const std::string& source);

std::string one_line(const Tree& tree);  // YAML; parse_tree gives the same tree back

}  // namespace quench
