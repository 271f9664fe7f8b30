// Reconstruction: the rounding of weights, and the scales of activations, are learned unit by unit, so that each unit
// of the quantized network gives what it gives in the float one (docs/numerics.md 15). How is a method's affair
// (quench/ptq_method.h): adaround, brecq, qdrop, blockwise, networkwise, or a user's own.
//
//   quench::reconstruct(model, *data, {.method = "qdrop"});      // a calibrated model; now reconstructed
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "quench/data.h"
#include "quench/options.h"
#include "quench/quantized_model.h"

namespace quench {

// A part of a graph. Names only; units are in order and cover every node that depends on an input of the graph.
struct Unit {
  std::string name;
  std::vector<std::string> nodes;
  std::vector<std::string> inputs;   // values that it reads from other units or from outside; items are their rows
  std::vector<std::string> outputs;  // values of its own that others read; items are their rows, too
  // More of both, which are the same for all items: they were computed from sizes alone.
  std::vector<std::string> shared_inputs, shared_outputs;
  std::vector<std::string> layers;  // nodes with a weight

  bool comparable = true;  // all outputs are floats, with an item per row

  // Else it is run and nothing more.
  bool learns() const { return !layers.empty() && outputs.size() == 1 && comparable; }
  const std::string& output() const { return outputs.front(); }
};

struct UnitOptions {
  std::string pattern = "block";  // or "layer"
  std::vector<std::string> ends;  // if the caller decides: layers that end a unit, or units of either pattern, by name
};

// From structure alone (docs/numerics.md 15.1). `graph` with or without quantizers.
std::vector<Unit> find_units(const Graph& graph, const UnitOptions& options = {});

// The block, layer or node of this name: the first that has it.
Unit find_unit(const Graph& graph, const std::string& name);

// What became of one unit.
struct UnitRecord {
  std::string name;
  std::vector<std::string> layers;
  double error_before = 0, error_after = 0;  // squared error of its output over all items, relative to its energy
  std::int64_t iterations = 0;
  double seconds = 0;
  double moved = 0;      // share of its weights whose code is not that of the nearest value any more
  std::string note;      // why a part learned nothing or slowly, or nothing was kept; "" otherwise
  bool resumed = false;  // taken from an earlier run
  int threads = 0;       // of that run; 0: it is not known

  static constexpr const char* kNotKept = "learning did not help: kept as it was before";  // a note
  void add_note(const std::string& text);
};

struct ReconstructionRecord {
  std::string method;
  Options options;  // all of them, with defaults
  std::vector<UnitRecord> units;
  std::vector<std::string> notes;  // units that could not learn, and why
  std::int64_t items = 0;
  double seconds = 0, cache_seconds = 0;             // all of it; of filling the caches
  std::int64_t memory_bytes = 0, spilled_bytes = 0;  // of the caches at their largest: in memory, in files
};

struct ReconstructOptions {
  std::string method = "qdrop";
  Options options = {};  // of the method (quench list methods)
  std::uint64_t seed = 0;
  std::string device = "cpu";
  int workers = 1;  // decoding threads
  bool skip_broken = false;
  bool keep_better = true;      // a unit that would end worse than it began stays as it was, if the method wants that
  std::string checkpoint = {};  // a folder: finished units are kept there, and taken from there if they fit. "": none
  // done of total iterations over all units.
  std::function<void(const std::string& unit, std::int64_t done, std::int64_t total)> progress = {};
  std::function<void(const UnitRecord& unit, std::size_t index, std::size_t count)> unit_done = {};
};

// Those that reconstruct() would work on. Throws what it would throw about these options and this network (with or
// without quantizers): names that are not in it, images to vary where there are none.
std::vector<Unit> units_of_method(const Graph& graph, const std::string& method, const Options& options);

// Learns on all items of the data. The model must be calibrated and ends `reconstructed`: its weights lie on their
// grids, so that its quantizers leave them alone. An error leaves it as it was.
ReconstructionRecord reconstruct(QuantizedModel& model, const Dataset& data, const ReconstructOptions& options = {});

// What these values are for every item of the data, stacked along the first axis, in the graph's present state: those
// that a layer or block reads and gives (find_unit(graph, "layer1.0").inputs), or any others whose first axis counts
// items. Nothing behind the last of them is computed.
std::map<std::string, at::Tensor> save_values(const Graph& graph, const Dataset& data,
                                              const std::vector<std::string>& values);

}  // namespace quench
