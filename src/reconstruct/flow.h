// The nodes of a graph that depend on its inputs, in an order in which chains stay together, and which values are
// alive between two of them: where a graph can be cut into units.
#pragma once

#include <set>
#include <unordered_map>
#include <vector>

#include "quench/graph.h"

namespace quench {

// Quantizers, and the Identities in front of some: in the float network they are not there.
bool passes_on(const Node* node);
const Value* unquantized(const Value* value);  // as it is before any of them

class Flow {
 public:
  explicit Flow(const Graph& graph);

  int size() const { return static_cast<int>(nodes_.size()); }
  const Node& node(int place) const { return *nodes_[static_cast<std::size_t>(place)]; }

  // Values that nodes before `place` (or the graph's inputs) give and nodes from `place` on read.
  std::vector<const Value*> alive_at(int place) const;
  int made_at(const Value& value) const;    // -1 for an input
  int last_read(const Value& value) const;  // the place of its last reader
  bool depends_on_data(const Value& value) const { return made_.contains(&value); }

  bool is_row(const Value& value) const;     // each item is a row of it
  bool is_target(const Value& value) const;  // such, of floats: what a unit's output can be compared by
  bool is_shared(const Value& value) const;  // the same for every item: computed from sizes alone, not from the batch
  bool has_layer(int place) const;           // a node with a weight
  bool is_join(int place) const;             // reads several values that depend on data

 private:
  void order(const Graph& graph);
  void place(const Node& node);
  std::vector<const Value*> origins_of(const Node& node) const;
  void open_batch(const Graph& graph);

  std::vector<const Node*> nodes_;
  std::set<const Node*> placed_;
  std::unordered_map<const Value*, int> made_, last_;
  std::set<const Value*> sizes_only_;
  Dim batch_;
  std::unordered_map<const Value*, Dims> open_;  // where the batch is fixed: dims as they are if it were not
};

}  // namespace quench
