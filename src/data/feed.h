// Data as a graph takes it, batch by batch: whatever runs a model over a data set feeds it this way.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/batch_size.h"
#include "quench/data.h"
#include "quench/graph.h"

namespace quench {

std::vector<std::string> output_names(const Graph& graph);

struct FeedOptions {
  std::int64_t batch = 0;                  // 0: the model's own where it is fixed, else `otherwise`
  std::int64_t otherwise = kDefaultBatch;  // the default
  int workers = 1;                         // decoding threads
  bool skip_broken = false;
  std::int64_t total = 0;  // at most this many items; 0: all
  bool fill = false;       // the last batch is padded, whatever the model takes
  // Only batches `part`, `part` + `parts` ... of the first `total` items: what one of several processes reads.
  int part = 0, parts = 1;
};

struct Fed {
  Batch batch;         // labels, names ...
  NamedValues inputs;  // of the graph
  std::int64_t items = 0;
  std::int64_t rows = 0;  // items, and the copies of the last one that pad a batch of fixed size
};

class Feed {
 public:
  // Both must outlive it. Recurrent state (Dataset::feedback) is what `graph` itself gives, item by item, in its
  // present state: it is computed here, ahead of everything else.
  Feed(const Graph& graph, const Dataset& data, const FeedOptions& options);
  ~Feed();

  std::optional<Fed> next();  // nothing at the end; throws as Loader
  std::int64_t batch_size() const { return batch_; }
  const Dataset& data() const { return data_; }     // with the states that are fed back
  std::int64_t size() const;                        // items that it will visit
  const std::vector<std::string>& skipped() const;  // one message per item left out so far

 private:
  const Graph& graph_;
  std::unique_ptr<Dataset> with_states_;
  const Dataset& data_;
  std::unique_ptr<Dataset> first_items_;  // of several parts: those that all of them visit
  FeedOptions options_;
  std::int64_t fixed_, batch_, done_ = 0;
  Loader loader_;
};

}  // namespace quench
