#include "report/compare_text.h"

#include <iomanip>

#include "core/decimals.h"
#include "quench/error.h"
#include "report/table.h"

namespace quench {

Json json_of(const ModelComparison& found, std::optional<double> bound) {
  Json values = Json::array();
  for (const ValueDifference& value : found.values)
    values.push_back({{"name", value.name},
                      {"step", value.step},
                      {"quantized", value.quantized},
                      {"elements", value.elements},
                      {"different", value.different},
                      {"share", value.share()},
                      {"largest_steps", value.largest},
                      {"mean_steps", value.mean}});
  Json object = {{"items", found.items},
                 {"values", values},
                 {"only_a", found.only_a},
                 {"only_b", found.only_b},
                 {"largest_steps", found.largest()}};
  if (found.predictions > 0) {
    object["predictions"] = found.predictions;
    object["equal_top1"] = found.equal_top1;
  }
  if (bound) {
    object["bound"] = *bound;
    object["passed"] = found.largest() <= *bound;
  }
  return object;
}

namespace {

// As many decimals as usual, or, of what is not 0 but would look like it, its first digits.
std::string visible(double number, int digits) {
  const std::string text = decimals(number, digits);
  return number != 0 && text == decimals(0, digits) ? concat(std::setprecision(2), number) : text;
}

// Beyond a bound it must not look as if it were within.
std::string largest_text(double largest, std::optional<double> bound) {
  const std::string text = visible(largest, 2);
  return bound && largest > *bound && std::stod(text) <= *bound ? concat(std::setprecision(17), largest) : text;
}

}  // namespace

std::string compare_text(const ModelComparison& found, std::optional<double> bound) {
  const std::vector<Column> columns = {{"tensor", 40},           {"step", 12, true},  {"elements", 14, true},
                                       {"other code", 14, true}, {"share", 10, true}, {"largest", 10, true},
                                       {"mean", 10, true}};
  std::vector<std::vector<std::string>> rows;
  for (const ValueDifference& value : found.values)
    rows.push_back({value.name, concat(value.step), grouped(value.elements), grouped(value.different),
                    concat(visible(100 * value.share(), 3), " %"), visible(value.largest, 2), visible(value.mean, 4)});
  std::string text = table_text(columns, rows) + concat("on ", found.items, " items; differences in steps\n");
  for (const std::string& name : found.only_a) text += concat("output '", name, "' is in the first model alone\n");
  for (const std::string& name : found.only_b) text += concat("output '", name, "' is in the second model alone\n");
  if (found.predictions > 0) text += concat("top-1       equal on ", found.equal_top1, " of ", found.predictions, "\n");
  text += concat("largest     ", largest_text(found.largest(), bound), " steps");
  if (bound) text += concat(found.largest() <= *bound ? ", within " : ", beyond ", "the bound of ", *bound);
  return text + "\n";
}

}  // namespace quench
