// Spec strings: "kind:PATH?key=value&key=value" and back.
#include <charconv>
#include <cmath>
#include <filesystem>

#include "core/joined.h"
#include "core/split.h"
#include "quench/data.h"
#include "quench/error.h"

namespace quench {
namespace {

std::map<std::string, std::string> parse_options(const std::string& text) {
  std::map<std::string, std::string> options;
  if (text.empty()) return options;
  for (const std::string& part : split(text, '&')) {
    const std::size_t equals = part.find('=');
    QUENCH_CHECK(equals != std::string::npos && equals > 0, "option '", part, "' is not of the form key=value");
    const auto [at, added] = options.emplace(part.substr(0, equals), part.substr(equals + 1));
    QUENCH_CHECK(added, "option '", at->first, "' is given twice");
  }
  return options;
}

bool is_folder(const std::string& path) {
  std::error_code ignored;  // what cannot be read does not count as a folder
  return std::filesystem::is_directory(path, ignored);
}

std::string kinds() { return joined(DatasetRegistry::instance().names()); }

}  // namespace

DatasetSpec parse_spec(const std::string& text) {
  const std::size_t question = text.rfind('?');
  const std::string place = text.substr(0, question);
  DatasetSpec spec;
  const std::size_t colon = place.find(':');
  const bool known_kind =
      colon != std::string::npos && DatasetRegistry::instance().find(place.substr(0, colon)) != nullptr;
  if (!known_kind && is_folder(place)) {
    spec.kind = "images";
    spec.path = place;
  } else {
    QUENCH_CHECK(colon != std::string::npos && colon > 0, "'", text,
                 "' does not say what kind of data it is, and is not a folder of images; write KIND:PATH with one of ",
                 kinds());
    spec.kind = place.substr(0, colon);
    spec.path = place.substr(colon + 1);
  }
  QUENCH_CHECK(!spec.path.empty(), "the data '", text, "' has no path; write ", spec.kind, ":PATH");
  if (question != std::string::npos)
    spec.options = with_context([&] { return concat("in the data '", text, "'"); },
                                [&] { return parse_options(text.substr(question + 1)); });
  return spec;
}

std::string to_string(const DatasetSpec& spec) {
  std::string text = spec.kind + ":" + spec.path;
  // A path may hold a '?' itself: the last one counts.
  if (!spec.options.empty() || spec.path.find('?') != std::string::npos) text += "?";
  bool first = true;
  for (const auto& [key, value] : spec.options) {
    QUENCH_CHECK((key + value).find_first_of("?&") == std::string::npos, "option ", key, "='", value,
                 "' cannot be written in a spec: it holds a '?' or '&'");
    text += concat(first ? "" : "&", key, "=", value);
    first = false;
  }
  return text;
}

std::optional<std::string> text_option(const DatasetSpec& spec, const std::string& key) {
  const auto at = spec.options.find(key);
  if (at == spec.options.end()) return std::nullopt;
  QUENCH_CHECK(!at->second.empty(), "option ", key, "= has no value");
  return at->second;
}

std::optional<std::int64_t> integer_option(const DatasetSpec& spec, const std::string& key, std::int64_t minimum) {
  const auto text = text_option(spec, key);
  if (!text) return std::nullopt;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  QUENCH_CHECK(error == std::errc() && end == text->data() + text->size() && number >= minimum, "option ", key, "=",
               *text, " is not an integer of at least ", minimum);
  return number;
}

std::optional<std::vector<double>> numbers_option(const DatasetSpec& spec, const std::string& key) {
  const auto text = text_option(spec, key);
  if (!text) return std::nullopt;
  std::vector<double> numbers;
  for (const std::string& part : split(*text, ',')) {
    double number = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    QUENCH_CHECK(error == std::errc() && end == part.data() + part.size() && std::isfinite(number), "option ", key, "=",
                 *text, " is not a list of numbers such as 0.485,0.456,0.406");
    numbers.push_back(number);
  }
  return numbers;
}

}  // namespace quench
