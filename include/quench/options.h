// Options of a plug-in: name -> number or word, as a config or an attribute gives them. Their reader
// declares what it knows; anything else is an error that names the nearest known option.
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

namespace quench {

using OptionValue = std::variant<double, std::string>;  // a switch is the number 0 or 1

struct OptionInfo {
  std::string name;
  OptionValue fallback;
  std::string summary;
};

class Options {
 public:
  Options() = default;
  Options(std::initializer_list<std::pair<const std::string, OptionValue>> values) : values_(values) {}

  void set(const std::string& name, OptionValue value) { values_[name] = std::move(value); }
  bool has(const std::string& name) const { return values_.contains(name); }
  const std::map<std::string, OptionValue>& values() const { return values_; }

  // All `known` options, the given ones replacing the fallbacks. `owner` ("observer 'mse'") is for messages.
  // An unknown name, or a word where a number belongs (or the reverse), throws.
  Options checked(const std::vector<OptionInfo>& known, const std::string& owner) const;

  // Of checked options; an unknown name is a bug of the caller.
  double number(const std::string& name) const;
  const std::string& word(const std::string& name) const;
  bool flag(const std::string& name) const { return number(name) != 0; }

  bool operator==(const Options&) const = default;

 private:
  std::map<std::string, OptionValue> values_;
};

}  // namespace quench
