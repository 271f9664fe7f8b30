// From YAML events to a Tree. yaml-cpp's own nodes keep duplicate keys, and its aliases are links that a reader which
// walks the tree follows again and again; here each copy is counted.
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <map>
#include <sstream>

#include "config/tree.h"

namespace quench {
namespace {

constexpr std::size_t kDeepest = 64;  // a config nests about ten deep
constexpr std::size_t kLargest =
    200'000;  // keys, values and items; the configs of whole frameworks have some thousands

std::size_t count(const Tree& tree) {
  std::size_t total = 1;
  for (const Tree& item : tree.items) total += count(item);
  for (const auto& [key, value] : tree.entries) total += count(value);
  return total;
}

std::size_t depth(const Tree& tree) {
  std::size_t deepest = 0;
  for (const Tree& item : tree.items) deepest = std::max(deepest, depth(item));
  for (const auto& [key, value] : tree.entries) deepest = std::max(deepest, depth(value));
  return deepest + 1;
}

class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(const std::string& source) : source_(std::make_shared<const std::string>(source)) {}

  Tree root;

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { leaf(made(mark, Tree::Kind::kNull), anchor); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Tree tree = made(mark, Tree::Kind::kText);
    refuse_python(tree, tag);
    tree.text = value;
    tree.quoted = tag == "!";
    if (!tree.quoted && (value == "null" || value == "~" || value == "None")) tree.kind = Tree::Kind::kNull;
    leaf(std::move(tree), anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(made(mark, Tree::Kind::kList), tag, anchor);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(made(mark, Tree::Kind::kMap), tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto at = anchors_.find(anchor);
    if (at == anchors_.end()) fail_at(made(mark, Tree::Kind::kNull), "an alias refers to the value it is part of");
    total_ += count(at->second);
    check_size(made(mark, Tree::Kind::kNull), open_.size() + depth(at->second));
    add(at->second);
  }

 private:
  struct Open {
    Tree tree;
    YAML::anchor_t anchor;
    bool has_key = false;
    std::string key;
  };

  Tree made(const YAML::Mark& mark, Tree::Kind kind) const {
    Tree tree;
    tree.kind = kind;
    tree.source = source_;
    tree.line = mark.line + 1;
    return tree;
  }

  // Tuples are lists; any other Python object would have to be executed.
  static void refuse_python(const Tree& tree, const std::string& tag) {
    if (tag.find("python/") == std::string::npos || tag.ends_with("python/tuple")) return;
    fail_at(tree, "a Python object (", tag, ") cannot be read; write it as plain values");
  }

  void check_size(const Tree& at, std::size_t deep) const {
    if (deep > kDeepest) fail_at(at, "the config nests more than ", kDeepest, " deep");
    if (total_ > kLargest) fail_at(at, "the config has more than ", kLargest, " values, aliases written out");
  }

  void leaf(Tree tree, YAML::anchor_t anchor) {
    ++total_;
    check_size(tree, open_.size() + 1);
    if (anchor != 0) anchors_[anchor] = tree;
    add(std::move(tree));
  }

  void open(Tree tree, const std::string& tag, YAML::anchor_t anchor) {
    refuse_python(tree, tag);
    ++total_;
    check_size(tree, open_.size() + 1);
    open_.push_back({std::move(tree), anchor, false, ""});
  }

  void close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    if (done.tree.is_map()) merge_under(done.tree);
    if (done.anchor != 0) {
      total_ += count(done.tree);
      check_size(done.tree, open_.size() + 1);
      anchors_[done.anchor] = done.tree;
    }
    add(std::move(done.tree));
  }

  void add(Tree tree) {
    if (open_.empty()) {
      root = std::move(tree);
    } else if (Open& top = open_.back(); top.tree.is_list()) {
      top.tree.items.push_back(std::move(tree));
    } else if (top.has_key) {
      top.tree.entries.emplace_back(std::move(top.key), std::move(tree));
      top.has_key = false;
    } else {
      add_key(top, tree);
    }
  }

  // YAML's merge key: `<<: *other` takes what the map does not say itself from another, or from several.
  static void merge_under(Tree& map) {
    const Tree* found = map.find("<<");
    if (!found) return;
    const Tree merged = *found;
    map.erase("<<");
    const std::vector<Tree> sources = merged.is_list() ? merged.items : std::vector<Tree>{merged};
    for (const Tree& source : sources) {
      if (!source.is_map()) fail_at(merged, "'<<' must be a map, or a list of maps");
      for (const auto& [key, value] : source.entries)
        if (!map.find(key)) map.entries.emplace_back(key, value);
    }
  }

  static void add_key(Open& top, const Tree& key) {
    if (!key.is_text()) fail_at(key, "a key must be a plain word");
    if (const Tree* first = top.tree.find(key.text))
      fail_at(key, "the key '", key.text, "' is given twice; the first is ", first->where());
    top.key = key.text;
    top.has_key = true;
  }

  std::shared_ptr<const std::string> source_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Tree> anchors_;
  std::size_t total_ = 0;
};

}  // namespace

Tree parse_tree(const std::string& text, const std::string& source) {
  TreeBuilder builder(source);
  std::istringstream stream(text);
  try {
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(builder)) return builder.root;
    Tree first = std::move(builder.root);
    builder.root = Tree();
    if (parser.HandleNextDocument(builder) && !builder.root.is_null())
      fail_at(builder.root, "the config holds more than one document");
    return first;
  } catch (const YAML::Exception& error) {
    throw Error("neither YAML nor JSON: " + error.msg)
        .add_context(concat("at line ", error.mark.line + 1, " of ", source));
  }
}

}  // namespace quench
