#include "report/speed_text.h"

#include <algorithm>

#include "core/decimals.h"
#include "quench/error.h"
#include "report/table.h"

namespace quench {
namespace {

std::string milliseconds(double seconds) { return decimals(1000 * seconds, 3); }

}  // namespace

Json json_of(const SpeedRecord& record) {
  Json steps = Json::array();
  for (const EngineStep& step : record.steps)
    steps.push_back({{"node", step.node}, {"op", step.op}, {"kernel", step.kernel}, {"seconds", step.seconds}});
  return {{"batch", record.batch},
          {"threads", record.threads},
          {"runs", record.runs},
          {"items_per_second", record.items_per_second},
          {"seconds", {{"least", record.least}, {"median", record.median}, {"p90", record.p90}, {"p99", record.p99}}},
          {"engine", record.engine},
          {"weight_bytes", record.weight_bytes},
          {"arena_bytes", record.arena_bytes},
          {"peak_bytes", record.peak_bytes},
          {"steps", steps}};
}

std::string speed_text(const SpeedRecord& record, int steps) {
  std::string text = concat("speed    ", decimals(record.items_per_second, 1), " items/s, batch ", record.batch, ", ",
                            record.threads, record.threads == 1 ? " thread, " : " threads, ", record.runs, " runs",
                            record.engine ? "" : ", in the executor", "\n");
  text += concat("latency  ", milliseconds(record.median), " ms median; 90 % ", milliseconds(record.p90), ", 99 % ",
                 milliseconds(record.p99), ", least ", milliseconds(record.least), "\n");
  text += "memory   ";
  if (record.engine)
    text += concat("weights ", size_text(record.weight_bytes), ", activations ", size_text(record.arena_bytes), ", ");
  text += concat("process ", size_text(record.peak_bytes), "\n");
  if (record.steps.empty() || steps == 0) return text;
  std::vector<EngineStep> slowest = record.steps;
  double total = 0;
  for (const EngineStep& step : slowest) total += step.seconds;
  std::stable_sort(slowest.begin(), slowest.end(),
                   [](const EngineStep& a, const EngineStep& b) { return a.seconds > b.seconds; });
  if (static_cast<int>(slowest.size()) > steps) slowest.resize(static_cast<std::size_t>(steps));
  std::vector<std::vector<std::string>> rows;
  for (const EngineStep& step : slowest)
    rows.push_back({step.node, step.op, step.kernel, milliseconds(step.seconds),
                    concat(decimals(total > 0 ? 100 * step.seconds / total : 0, 1), " %")});
  return text + "\n" +
         table_text({{"layer", 40}, {"operator", 24}, {"kernel", 32}, {"ms", 10, true}, {"share", 8, true}}, rows);
}

}  // namespace quench
