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

Json json_of(const PartErrors& parts) {
  return {{"weight_sqnr_db", json_of(parts.weight)},
          {"input_sqnr_db", json_of(parts.input)},
          {"output_sqnr_db", json_of(parts.output)}};
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

// By which of its quantizers it loses most; a layer that stays float loses by those of its neighbours.
std::string worst_text(const LayerProfile& layer) {
  if (layer.stays_float) return "stays float";
  return layer.worst().empty() ? "nothing" : layer.worst();
}

std::vector<std::string> cells_of(const LayerProfile& layer) {
  const TensorError &alone = layer.standalone, &all = layer.cumulative;
  return {layer.name,
          layer.op,
          worst_text(layer),
          decibels(alone.sqnr),
          printed("%.5f", alone.cosine.value),
          printed("%.3g", alone.mse.value),
          printed("%.3g", alone.max),
          decibels(all.sqnr),
          printed("%.5f", all.cosine.value)};
}

// Both cosines, the greatest error, the mean one, the operator; each by its place when those before it are gone.
constexpr std::array<std::size_t, 5> kLeastImportantFirst = {8, 4, 5, 4, 1};

}  // namespace

Json json_of(const ProfileRecord& record) {
  Json layers = Json::array();
  for (const LayerProfile& layer : ranked_by_damage(record))
    layers.push_back({{"name", layer.name},
                      {"op", layer.op},
                      {"output", layer.output},
                      {"stays_float", layer.stays_float},
                      {"worst", layer.worst()},
                      {"parts", json_of(layer.parts)},
                      {"standalone", json_of(layer.standalone)},
                      {"cumulative", json_of(layer.cumulative)}});
  return {{"items", record.items}, {"layers", layers}};
}

std::string profile_table(const ProfileRecord& record, std::size_t rows, std::size_t columns) {
  std::vector<Column> titles = {
      {"layer", 40},       {"op", 20},        {"loses most", 12},      {"SQNR alone", 20, true},
      {"cosine", 9, true}, {"MSE", 10, true}, {"max error", 10, true}, {"SQNR so far", 20, true},
      {"cosine", 9, true}};
  std::vector<std::vector<std::string>> cells;
  for (const LayerProfile& layer : ranked_by_damage(record)) {
    if (rows > 0 && cells.size() == rows) break;
    cells.push_back(cells_of(layer));
  }
  std::string text = table_text(titles, cells);
  for (const std::size_t least : kLeastImportantFirst) {
    if (columns == 0 || text.find('\n') <= columns) break;
    titles.erase(titles.begin() + static_cast<std::ptrdiff_t>(least));
    for (std::vector<std::string>& row : cells) row.erase(row.begin() + static_cast<std::ptrdiff_t>(least));
    text = table_text(titles, cells);
  }
  if (cells.size() < record.layers.size())
    text += concat("... and ", record.layers.size() - cells.size(), " layers with less damage\n");
  return text;
}

}  // namespace quench
