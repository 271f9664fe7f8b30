// Reads a map of the config key by key; what nobody asked for is unknown.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/tree.h"
#include "quench/options.h"

namespace quench {

// Each function makes its key known and returns nothing if the key is absent or has no value. A value of the wrong
// type throws, naming the key and what is expected.
class MapReader {
 public:
  MapReader(const Tree& tree, std::string path);  // path: "" or "defaults.weight"; throws if it is not a map

  const Tree* find(const std::string& key);
  // One key under several names: throws when two are given.
  const Tree* find_any(std::initializer_list<const char*> names);
  std::optional<MapReader> map(const std::string& key);
  std::optional<std::string> text(const std::string& key);
  std::optional<std::string> choice(const std::string& key, const std::vector<std::string>& choices);
  std::optional<bool> flag(const std::string& key);
  std::optional<double> number(const std::string& key);
  std::optional<std::int64_t> integer(const std::string& key, std::int64_t least);
  std::vector<std::string> texts(const std::string& key);  // a list; a text is one too: a,b
  std::vector<std::vector<std::string>> chains(const std::string& key);
  std::optional<Options> options(const std::string& key);

  std::string path_of(const std::string& key) const;
  const Tree& tree() const { return tree_; }
  // The keys that nobody asked for yet, which become known.
  std::vector<std::string> rest();
  Options rest_options();  // the same as options; those without a value are left out
  void finish() const;     // throws for a key that nobody asked for, with the nearest known one

 private:
  const Tree& tree_;
  std::string path_;
  std::set<std::string> known_;
};

// The same for a value anywhere.
std::string text_of(const Tree& tree, const std::string& path);
bool flag_of(const Tree& tree, const std::string& path);
double number_of(const Tree& tree, const std::string& path);
std::int64_t integer_of(const Tree& tree, const std::string& path, std::int64_t least);
std::vector<std::string> texts_of(const Tree& tree, const std::string& path);
Options options_of(const Tree& tree, const std::string& path);  // lists become "20,2"
OptionValue option_of(const Tree& tree, const std::string& path);

}  // namespace quench
