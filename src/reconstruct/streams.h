// The float and the quantized network over all items, advancing unit by unit: what enters the present unit in either.
// A unit is run on what the units before it gave, so that all of reconstruction costs a few passes over the network.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "quench/data.h"
#include "quench/executor.h"
#include "quench/reconstruct.h"
#include "reconstruct/row_store.h"

namespace quench {

// The values of one network.
class Stream {
 public:
  explicit Stream(RowPool& pool) : pool_(pool) {}

  void put(const std::string& value, std::int64_t total, std::int64_t first, const RtValue& rows);
  void put_shared(const std::string& value, const RtValue& same);
  void take(const std::string& value, const Stream& other);  // what the other has; not copied

  // Rows of the unit's inputs, with what is shared.
  template <typename... Which>
  NamedValues inputs(const Unit& unit, Which... which) const {
    NamedValues values;
    for (const std::string& name : unit.inputs) values[name] = RtValue(store(name).get(which...), types_.at(name));
    for (const std::string& name : unit.shared_inputs) values[name] = shared(name);
    return values;
  }
  const RowStore& store(const std::string& value) const;
  DType type(const std::string& value) const { return types_.at(value); }
  const RtValue& shared(const std::string& value) const;
  void drop(const std::string& value);

 private:
  RowPool& pool_;
  std::map<std::string, std::shared_ptr<RowStore>> stores_;
  std::map<std::string, DType> types_;
  NamedValues shared_;
};

class Streams {
 public:
  struct Options {
    std::string device = "cpu";
    std::int64_t chunk = 32;  // items that go through a unit at once
    int workers = 1;
    bool skip_broken = false;
  };
  // `units` must outlive it. Reads all items: they are what enters the first unit.
  Streams(const Graph& graph, const Dataset& data, const std::vector<Unit>& units, RowPool& pool,
          const Options& options);

  std::int64_t items() const { return items_; }
  std::int64_t chunk() const { return options_.chunk; }
  std::uint64_t content_hash() const { return hash_; }  // of all items, in order
  const std::vector<Unit>& units() const { return units_; }
  const Stream& plain() const { return plain_; }
  const Stream& quantized() const { return quantized_; }

  // The unit's outputs in the float network; they are what its outputs should be.
  void run_plain(Executor& executor, const Unit& unit);
  // In the quantized network; with `keep` they become what later units read. The squared error of its only output,
  // relative to the energy of the float one (0 if it has several).
  double run_quantized(Executor& executor, const Unit& unit, bool keep);
  void hold(const Unit& unit);         // what enters and leaves it is never dropped
  void drop_unused(std::size_t done);  // what no unit after this one reads
  // All items, as many at once as go through a unit.
  void for_chunks(const std::function<void(std::int64_t first, std::int64_t count)>& body) const;

 private:
  void load(const Graph& graph, const Dataset& data);

  const std::vector<Unit>& units_;
  Options options_;
  Stream plain_, quantized_;
  std::int64_t items_ = 0;
  std::uint64_t hash_ = 0;
  std::set<std::string> held_;
};

}  // namespace quench
