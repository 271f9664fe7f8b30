#include "graph/schedule.h"

#include <algorithm>

#include "quench/error.h"

namespace quench {

Program::Program(const Graph& graph) {
  const auto number = [&](const Value* value) {
    if (!value) return -1;
    auto [at, added] = ids.try_emplace(value, static_cast<int>(values.size()));
    if (added) values.push_back(value);
    return at->second;
  };
  for (const Value* input : graph.inputs()) number(input);
  for (const auto& node : graph.nodes()) {
    Step step;
    step.node = node.get();
    step.entry = &entry_of(*node);
    for (const Value* input : node->inputs()) step.inputs.push_back(number(input));
    for (const Value* output : node->outputs()) step.outputs.push_back(number(output));
    step.on_host.resize(step.inputs.size());
    for (int slot : step.entry->traits.host_slots)
      if (slot < static_cast<int>(step.on_host.size())) step.on_host[static_cast<std::size_t>(slot)] = true;
    steps.push_back(std::move(step));
  }
  for (const Value* value : graph.constants()) number(value);
}

Schedule make_schedule(const Program& program, const std::vector<int>& feeds, const std::vector<int>& fetches) {
  std::vector<bool> needed(program.values.size()), fed(program.values.size()), kept(program.values.size());
  for (int id : feeds) fed[static_cast<std::size_t>(id)] = true;
  for (int id : fetches) needed[static_cast<std::size_t>(id)] = kept[static_cast<std::size_t>(id)] = true;

  // Backwards: a step is needed when an output of it is, and was not fed.
  Schedule schedule;
  std::vector<bool> seen(program.values.size());  // already used by a later step
  for (int i = static_cast<int>(program.steps.size()) - 1; i >= 0; --i) {
    const Step& step = program.steps[static_cast<std::size_t>(i)];
    const bool wanted = std::any_of(step.outputs.begin(), step.outputs.end(), [&](int id) {
      return id >= 0 && needed[static_cast<std::size_t>(id)] && !fed[static_cast<std::size_t>(id)];
    });
    if (!wanted) continue;
    Schedule::Item item{i, {}};
    const auto note_last_use = [&](int id) {
      const auto index = static_cast<std::size_t>(id);
      if (!seen[index] && !kept[index] && !program.values[index]->is_constant()) item.dead_after.push_back(id);
      seen[index] = true;
    };
    for (int id : step.outputs)
      if (id >= 0) note_last_use(id);  // an unused output dies at once
    for (int id : step.inputs) {
      if (id < 0) continue;
      note_last_use(id);
      needed[static_cast<std::size_t>(id)] = true;
    }
    schedule.items.push_back(std::move(item));
  }
  std::reverse(schedule.items.begin(), schedule.items.end());

  for (std::size_t id = 0; id < program.values.size(); ++id) {
    const Value& value = *program.values[id];
    QUENCH_CHECK(!needed[id] || fed[id] || value.producer() || value.is_constant(), "graph input '", value.name(),
                 "' is needed for this run but was not given");
  }
  return schedule;
}

}  // namespace quench
