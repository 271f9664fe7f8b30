// Schedule: which nodes to run, in which order, and what to free after each: the static part of a run.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "quench/op.h"

namespace quench {

// One node with its values as dense numbers; -1 where absent.
struct Step {
  const Node* node = nullptr;
  const OpEntry* entry = nullptr;
  std::vector<int> inputs;
  std::vector<int> outputs;
  std::vector<bool> on_host;  // per input: read as numbers
};

// All of a graph, numbered.
struct Program {
  explicit Program(const Graph& graph);
  int id_of(const Value& value) const { return ids.at(&value); }

  std::vector<const Value*> values;  // by number
  std::unordered_map<const Value*, int> ids;
  std::vector<Step> steps;
};

// A part of a program: what lies between the fed values and the fetched ones.
struct Schedule {
  struct Item {
    int step;
    std::vector<int> dead_after;  // values that nothing later needs
  };
  std::vector<Item> items;
};

// Throws when a fetched value depends on a graph input that is not fed, and names both.
Schedule make_schedule(const Program& program, const std::vector<int>& feeds, const std::vector<int>& fetches);

}  // namespace quench
