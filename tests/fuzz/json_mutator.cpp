#include "fuzz/json_mutator.h"

#include <nlohmann/json.hpp>

namespace quench {
namespace {

using Json = nlohmann::ordered_json;

void collect(Json& value, std::vector<Json*>& values) {
  values.push_back(&value);
  if (!value.is_structured()) return;
  for (Json& element : value) collect(element, values);
}

void leave_one_out(Json& value, Random& random) {
  if (value.empty()) return;
  const auto at = static_cast<std::ptrdiff_t>(below(random, value.size()));
  value.erase(std::next(value.begin(), at));
}

Json any_number(Random& random) {
  static constexpr std::int64_t kNumbers[] = {0, 1, -1, 2, 5, 64, 65536, 2147483647, INT64_MAX, INT64_MIN, 4294967296};
  return kNumbers[below(random, std::size(kNumbers))];
}

}  // namespace

bool mutate_json(Bytes& bytes, Random& random) {
  Json tree = Json::parse(bytes.begin(), bytes.end(), nullptr, /*allow_exceptions=*/false);
  if (tree.is_discarded()) return false;
  std::vector<Json*> values;
  collect(tree, values);
  Json& chosen = *values[below(random, values.size())];
  const Json other = *values[below(random, values.size())];  // a copy: one may lie inside the other
  switch (random() % 4) {
    case 0: chosen = any_number(random); break;
    case 1:
      if (chosen.is_structured()) {
        leave_one_out(chosen, random);
        break;
      }
      [[fallthrough]];
    case 2:
      if (chosen.is_array() && chosen.size() > 0) {
        chosen.push_back(Json(chosen[below(random, chosen.size())]));
        break;
      }
      [[fallthrough]];
    default: chosen = other;
  }
  const std::string text = tree.dump(-1, ' ', false, Json::error_handler_t::replace);
  bytes.assign(text.begin(), text.end());
  return true;
}

}  // namespace quench
