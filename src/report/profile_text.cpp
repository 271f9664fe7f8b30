#include "report/profile_text.h"

#include <array>
#include <cmath>
#include <cstdio>

#include "quench/error.h"
#include "report/table.h"

namespace quench {
namespace {

// Infinite or unknown values are null: JSON has no word for them.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json json_of(const Estimate& estimate) {
  return {{"value", number(estimate.value)}, {"standard_error", number(estimate.error)}};
}

Json json_of(const TensorError& error) {
  return {{"sqnr_db", json_of(error.sqnr)},
          {"cosine", json_of(error.cosine)},
          {"mse", json_of(error.mse)},
          {"max_error", number(error.max)}};
}

std::string printed(const char* format, double value) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

std::string decibels(const Estimate& sqnr) {
  if (!std::isfinite(sqnr.value)) return sqnr.value > 0 ? "exact" : "nothing left";
  const std::string value = printed("%.2f", sqnr.value);
  return std::isfinite(sqnr.error) ? value + printed(" +- %.2f", sqnr.error) : value;
}

}  // namespace

Json json_of(const ProfileRecord& record) {
  Json layers = Json::array();
  for (const LayerProfile& layer : ranked_by_damage(record))
    layers.push_back({{"name", layer.name},
                      {"op", layer.op},
                      {"output", layer.output},
                      {"standalone", json_of(layer.standalone)},
                      {"cumulative", json_of(layer.cumulative)}});
  return {{"items", record.items}, {"layers", layers}};
}

std::string profile_table(const ProfileRecord& record, std::size_t rows) {
  const std::vector<Column> columns = {{"layer", 40},
                                       {"op", 20},
                                       {"SQNR alone", 20, true},
                                       {"cosine", 9, true},
                                       {"MSE", 10, true},
                                       {"max error", 10, true},
                                       {"SQNR so far", 20, true},
                                       {"cosine", 9, true}};
  std::vector<std::vector<std::string>> cells;
  for (const LayerProfile& layer : ranked_by_damage(record)) {
    if (rows > 0 && cells.size() == rows) break;
    cells.push_back({layer.name, layer.op, decibels(layer.standalone.sqnr),
                     printed("%.5f", layer.standalone.cosine.value), printed("%.3g", layer.standalone.mse.value),
                     printed("%.3g", layer.standalone.max), decibels(layer.cumulative.sqnr),
                     printed("%.5f", layer.cumulative.cosine.value)});
  }
  std::string text = table_text(columns, cells);
  if (cells.size() < record.layers.size())
    text += concat("... and ", record.layers.size() - cells.size(), " layers with less damage\n");
  return text;
}

}  // namespace quench
