#include "quench/options.h"

#include <algorithm>

#include "quench/error.h"
#include "quench/registry.h"

namespace quench {
namespace {

const char* kind_of(const OptionValue& value) { return std::holds_alternative<double>(value) ? "a number" : "a word"; }

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
    QUENCH_CHECK(at->second.index() == value.index(), "option '", name, "' of ", owner, " must be ",
                 kind_of(at->second), ", not ", kind_of(value));
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
