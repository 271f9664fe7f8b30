#include "quench/options.h"

#include <algorithm>

#include "quench/error.h"
#include "quench/registry.h"

namespace quench {
namespace {

const char* kind_of(const OptionValue& value) { return std::holds_alternative<double>(value) ? "a number" : "a word"; }

// What is wanted of a user: a pair of numbers, whose fallback is such as "20,2", is a word only inside.
std::string wanted(const OptionValue& fallback) {
  const std::string* word = std::get_if<std::string>(&fallback);
  const bool is_pair = word && std::count(word->begin(), word->end(), ',') == 1 &&
                       word->find_first_not_of("0123456789.,-") == std::string::npos;
  return is_pair ? "two numbers, such as " + *word : kind_of(fallback);
}

}  // namespace

Options Options::checked(const std::vector<OptionInfo>& known, const std::string& owner) const {
  Options result;
  std::vector<std::string> names;
  for (const OptionInfo& info : known) {
    names.push_back(info.name);
    result.values_[info.name] = info.fallback;
  }
  const std::string kind = "option of " + owner;
  for (const auto& [name, value] : values_) {
    const auto at = result.values_.find(name);
    if (at == result.values_.end()) fail_unknown_name(kind.c_str(), name, names);
    QUENCH_CHECK(at->second.index() == value.index(), "option '", name, "' of ", owner, " must be ", wanted(at->second),
                 ", not ", kind_of(value));
    at->second = value;
  }
  return result;
}

double Options::number(const std::string& name) const {
  const auto at = values_.find(name);
  QUENCH_CHECK(at != values_.end(), "no option '", name, "' is declared");
  return std::get<double>(at->second);
}

const std::string& Options::word(const std::string& name) const {
  const auto at = values_.find(name);
  QUENCH_CHECK(at != values_.end(), "no option '", name, "' is declared");
  return std::get<std::string>(at->second);
}

}  // namespace quench
