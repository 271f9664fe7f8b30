#include "report/convert_text.h"

#include "core/decimals.h"
#include "quench/error.h"

namespace quench {

Json json_of(const ConvertRecord& record) {
  Json in_float = Json::array();
  for (const ConvertRecord::FloatLayer& layer : record.in_float)
    in_float.push_back({{"node", layer.node}, {"op", layer.op}, {"reason", layer.reason}});
  return {{"requantize", record.requantize},
          {"integer_layers", record.layers},
          {"tables", record.tables},
          {"moved", record.moved},
          {"in_float", in_float},
          {"largest_accumulator", record.largest_accumulator},
          {"warnings", record.warnings}};
}

std::string convert_text(const ConvertRecord& record) {
  std::string text = concat("rule        ", record.requantize, "\ninteger     ", record.layers, " layers, ",
                            record.tables, " tables; ", record.moved, " operators move codes\n");
  text += concat("accumulator ", decimals(100 * record.largest_accumulator, 1), " % of int32 at most",
                 record.warnings.empty() ? "" : ", but for the layers below", "\n");
  text += concat("in float    ", record.in_float.size(), record.in_float.size() == 1 ? " operator\n" : " operators\n");
  for (const ConvertRecord::FloatLayer& layer : record.in_float)
    text += concat("  ", layer.node, " (", layer.op, "): ", layer.reason, "\n");
  for (const std::string& warning : record.warnings) text += concat("WARNING: ", warning, "\n");
  return text;
}

}  // namespace quench
