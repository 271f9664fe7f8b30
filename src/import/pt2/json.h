// JSON of an archive, read with suspicion: bounded depth, and every access says what is wrong.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace quench {

// `what` names the text in errors ("models/model.json").
nlohmann::json parse_pt2_json(const std::string& text, const std::string& what);

const nlohmann::json* find_member(const nlohmann::json& object, const char* key);  // null: absent or null
const nlohmann::json& member(const nlohmann::json& object, const char* key);
const nlohmann::json& array_member(const nlohmann::json& object, const char* key);
const nlohmann::json& object_member(const nlohmann::json& object, const char* key);
std::string text_member(const nlohmann::json& object, const char* key);
std::int64_t integer_member(const nlohmann::json& object, const char* key);
bool flag_member(const nlohmann::json& object, const char* key, bool fallback);

std::string text_of(const nlohmann::json& value, const char* what);
std::int64_t integer_of(const nlohmann::json& value, const char* what);
bool flag_of(const nlohmann::json& value, const char* what);
double real_of(const nlohmann::json& value, const char* what);  // numbers, and the words Infinity, -Infinity, NaN

// The one key of a tagged union, {"as_int": 3}.
std::string tag_of(const nlohmann::json& tagged, const char* what);

}  // namespace quench
