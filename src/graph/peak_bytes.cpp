#include "graph/peak_bytes.h"

#include <algorithm>
#include <optional>

#include "graph/schedule.h"

namespace quench {
namespace {

std::optional<std::int64_t> bytes_of(const Value& value) {
  if (!value.has_rank()) return std::nullopt;
  std::int64_t bits = bits_of(value.dtype());
  for (const Dim& dim : value.dims()) {
    if (!dim.is_number()) return std::nullopt;
    bits *= dim.number();
  }
  return (bits + 7) / 8;
}

}  // namespace

PeakBytes peak_bytes(const Graph& graph) {
  const Program program(graph);
  std::vector<int> feeds, fetches;
  for (const Value* input : graph.inputs()) feeds.push_back(program.id_of(*input));
  for (const Value* output : graph.outputs()) fetches.push_back(program.id_of(*output));
  const auto bytes_at = [&](int id) { return bytes_of(*program.values[static_cast<std::size_t>(id)]); };
  PeakBytes peak;
  std::int64_t alive = 0;
  for (const int id : feeds) alive += bytes_at(id).value_or(0);
  for (const Schedule::Item& item : make_schedule(program, feeds, fetches).items) {
    for (const int id : program.steps[static_cast<std::size_t>(item.step)].outputs) {
      if (id < 0) continue;
      peak.unknown += bytes_at(id) ? 0 : 1;
      alive += bytes_at(id).value_or(0);
    }
    peak.bytes = std::max(peak.bytes, alive);
    for (const int id : item.dead_after) alive -= bytes_at(id).value_or(0);
  }
  return peak;
}

}  // namespace quench
