#include "report/reconstruct_text.h"

#include <cstdio>

#include "core/counted.h"
#include "core/decimals.h"
#include "core/joined.h"
#include "quench/error.h"
#include "report/table.h"

namespace quench {
namespace {

// Three digits that count, whatever the size: at eight bits errors are small.
std::string error_text(double error) {
  char text[32] = "";
  std::snprintf(text, sizeof text, "%#.3g", error);
  std::string digits = text;
  if (digits.ends_with('.')) digits.pop_back();
  return digits;
}

}  // namespace

std::string unit_line(const UnitRecord& unit, std::size_t index, std::size_t count) {
  return concat(unit.name, " (", index, " of ", count, "): error ", error_text(unit.error_before), " -> ",
                error_text(unit.error_after), ", ",
                unit.resumed ? "from the earlier run"
                             : concat(unit.iterations, " iterations, ", decimals(unit.seconds, 1), " s"));
}

std::string units_table(const ReconstructionRecord& record) {
  std::vector<std::vector<std::string>> rows;
  for (const UnitRecord& unit : record.units)
    rows.push_back({unit.name, std::to_string(unit.layers.size()), error_text(unit.error_before),
                    error_text(unit.error_after), concat(decimals(100 * unit.moved, 1), " %"),
                    std::to_string(unit.iterations), decimals(unit.seconds, 1)});
  return table_text({{"unit", 40},
                     {"layers", 8, true},
                     {"error", 12, true},
                     {"after", 12, true},
                     {"moved", 10, true},
                     {"iterations", 12, true},
                     {"seconds", 10, true}},
                    rows) +
         "error: squared, of the unit's output, relative to its energy; moved: weights that left their nearest code\n";
}

std::string reconstruction_summary(const ReconstructionRecord& record, const std::string& item) {
  std::string text =
      concat("learned     ", record.method, ": ", counted(static_cast<std::int64_t>(record.units.size()), "unit"),
             " on ", counted(record.items, item), " in ", decimals(record.seconds, 1), " s; caches took ",
             size_text(record.memory_bytes));
  if (record.spilled_bytes > 0) text += concat(" and ", size_text(record.spilled_bytes), " in files");
  return text + "\n";
}

Json json_of(const ReconstructionRecord& record) {
  Json units = Json::array();
  for (const UnitRecord& unit : record.units) {
    units.push_back({{"name", unit.name},
                     {"layers", unit.layers},
                     {"error_before", unit.error_before},
                     {"error_after", unit.error_after},
                     {"iterations", unit.iterations},
                     {"seconds", unit.seconds},
                     {"moved", unit.moved},
                     {"resumed", unit.resumed},
                     {"note", unit.note}});
    if (unit.threads > 0) units.back()["threads"] = unit.threads;
  }
  Json options = Json::object();
  for (const auto& [name, value] : record.options.values())
    std::visit([&, &key = name](const auto& one) { options[key] = one; }, value);
  return {{"method", record.method},
          {"options", options},
          {"items", record.items},
          {"seconds", record.seconds},
          {"cache_seconds", record.cache_seconds},
          {"memory_bytes", record.memory_bytes},
          {"spilled_bytes", record.spilled_bytes},
          {"units", units}};
}

std::string units_text(const std::vector<Unit>& units) {
  std::vector<std::vector<std::string>> rows;
  for (const Unit& unit : units)
    rows.push_back({unit.name, unit.learns() ? joined(unit.layers) : "(runs, learns nothing)", joined(unit.inputs),
                    joined(unit.outputs)});
  return table_text({{"unit", 40}, {"layers", 60}, {"reads", 40}, {"gives", 40}}, rows);
}

Json json_of(const std::vector<Unit>& units) {
  Json list = Json::array();
  for (const Unit& unit : units)
    list.push_back({{"name", unit.name},
                    {"layers", unit.layers},
                    {"inputs", unit.inputs},
                    {"outputs", unit.outputs},
                    {"learns", unit.learns()}});
  return list;
}

}  // namespace quench
