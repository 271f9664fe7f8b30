// Open sets: name -> entry. An observer, a pass or an operator registers itself from its own file, so
// adding one edits no list. Names are looked up in order of name; registration order means nothing.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "quench/error.h"

namespace quench {

// The candidates closest to `name`, for "did you mean"; empty when none is close.
std::string nearest_name(const std::string& name, const std::vector<std::string>& candidates);

// "unknown KIND 'name'; did you mean 'x'? known: a, b, c"
[[noreturn]] void fail_unknown_name(const char* kind, const std::string& name, const std::vector<std::string>& known);

// Prints both files and aborts: two entries with one name are a build error that only shows at start-up.
[[noreturn]] void abort_duplicate_name(const char* kind, const std::string& name, const char* first,
                                       const char* second);

// A registry of `Item`s. Item::kKind ("pass", "operator") is what error messages call it.
template <typename Item>
class Registry {
 public:
  struct Entry {
    Item item;
    std::string summary;  // one line, for `quench list`
    const char* file;     // where it was registered
  };

  static Registry& instance() {
    static Registry registry;
    return registry;
  }

  bool add(const std::string& name, Item item, std::string summary, const char* file) {
    auto [at, added] = entries_.try_emplace(name, Entry{std::move(item), std::move(summary), file});
    if (!added) abort_duplicate_name(Item::kKind, name, at->second.file, file);
    return true;
  }

  const Item* find(const std::string& name) const {
    auto at = entries_.find(name);
    return at == entries_.end() ? nullptr : &at->second.item;
  }

  const Item& get(const std::string& name) const {
    if (const Item* item = find(name)) return *item;
    fail_unknown_name(Item::kKind, name, names());
  }

  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& [name, entry] : entries_) result.push_back(name);
    return result;
  }

  const std::map<std::string, Entry>& entries() const { return entries_; }

 private:
  std::map<std::string, Entry> entries_;
};

}  // namespace quench

#define QUENCH_CONCAT_INNER(a, b) a##b
#define QUENCH_CONCAT(a, b) QUENCH_CONCAT_INNER(a, b)

// QUENCH_REGISTER_ITEM(PassEntry, "fuse_x", "what it does", {...})
#define QUENCH_REGISTER_ITEM(Item, name, summary, ...)                                \
  [[maybe_unused]] static const bool QUENCH_CONCAT(quench_registered_, __COUNTER__) = \
      ::quench::Registry<Item>::instance().add(name, Item __VA_ARGS__, summary, __FILE__);
