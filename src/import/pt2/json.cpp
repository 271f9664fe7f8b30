#include "import/pt2/json.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "quench/error.h"

namespace quench {
namespace {

using nlohmann::json;

constexpr int kMaxDepth = 64;                     // programs with nested graphs reach about 20
constexpr std::size_t kMaxBytes = 256ULL << 20U;  // parsed, a text takes some ten times its size

}  // namespace

json parse_pt2_json(const std::string& text, const std::string& what) {
  QUENCH_CHECK(text.size() <= kMaxBytes, what, " has ", text.size(), " bytes; at most ", kMaxBytes, " are read");
  const auto watch = [&](int depth, json::parse_event_t, const json&) {
    QUENCH_CHECK(depth <= kMaxDepth, what, " is nested more than ", kMaxDepth, " levels deep");
    return true;
  };
  json parsed = json::parse(text, watch, /*allow_exceptions=*/false);
  QUENCH_CHECK(!parsed.is_discarded(), what, " is not valid JSON");
  QUENCH_CHECK(parsed.is_object(), what, " is not a JSON object");
  return parsed;
}

const json* find_member(const json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto at = object.find(key);
  return at == object.end() || at->is_null() ? nullptr : &*at;
}

const json& member(const json& object, const char* key) {
  const json* found = find_member(object, key);
  QUENCH_CHECK(found, "the program has no '", key, "' where one is required");
  return *found;
}

const json& array_member(const json& object, const char* key) {
  const json& value = member(object, key);
  QUENCH_CHECK(value.is_array(), "'", key, "' of the program is not a list");
  return value;
}

const json& object_member(const json& object, const char* key) {
  const json& value = member(object, key);
  QUENCH_CHECK(value.is_object(), "'", key, "' of the program is not an object");
  return value;
}

std::string text_member(const json& object, const char* key) { return text_of(member(object, key), key); }
std::int64_t integer_member(const json& object, const char* key) { return integer_of(member(object, key), key); }

bool flag_member(const json& object, const char* key, bool fallback) {
  const json* value = find_member(object, key);
  return value ? flag_of(*value, key) : fallback;
}

std::string text_of(const json& value, const char* what) {
  QUENCH_CHECK(value.is_string(), "'", what, "' of the program is not a string");
  return value.get<std::string>();
}

std::int64_t integer_of(const json& value, const char* what) {
  QUENCH_CHECK(value.is_number_integer(), "'", what, "' of the program is not an integer");
  QUENCH_CHECK(!value.is_number_unsigned() || value.get<std::uint64_t>() <= static_cast<std::uint64_t>(INT64_MAX), "'",
               what, "' of the program is larger than any size");
  return value.get<std::int64_t>();
}

bool flag_of(const json& value, const char* what) {
  QUENCH_CHECK(value.is_boolean(), "'", what, "' of the program is neither true nor false");
  return value.get<bool>();
}

double real_of(const json& value, const char* what) {
  if (value.is_number()) return value.get<double>();
  const std::string word = text_of(value, what);
  if (word == "Infinity") return std::numeric_limits<double>::infinity();
  if (word == "-Infinity") return -std::numeric_limits<double>::infinity();
  QUENCH_CHECK(word == "NaN", "'", what, "' of the program is not a number but '", word, "'");
  return std::numeric_limits<double>::quiet_NaN();
}

std::string tag_of(const json& tagged, const char* what) {
  QUENCH_CHECK(tagged.is_object() && tagged.size() == 1, what, " of the program does not say what kind it is");
  return tagged.begin().key();
}

}  // namespace quench
