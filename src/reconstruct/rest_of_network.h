// The float network behind a unit, as something that runs on what the unit gives.
#pragma once

#include "reconstruct/streams.h"

namespace quench {

class RestOfNetwork {
 public:
  // All must outlive it. `executor` runs the float network and records for autograd.
  RestOfNetwork(const Streams& streams, std::size_t unit, Executor& executor);

  // The network's float outputs that may depend on the unit, if the unit's output is this for these items: their
  // numbers, or the first and how many.
  template <typename... Which>
  NamedValues run(const at::Tensor& output, Which... which) {
    NamedValues feeds;
    const Stream& plain = streams_.plain();
    for (const std::string& name : rows_) feeds[name] = RtValue(plain.store(name).get(which...), plain.type(name));
    for (const std::string& name : shared_) feeds[name] = plain.shared(name);
    feeds[streams_.units()[unit_].output()] = RtValue(output);
    return executor_.run(feeds, outputs_);
  }
  const std::vector<std::string>& outputs() const { return outputs_; }
  std::size_t outputs_of_all() const;                               // float ones of the whole network
  at::Tensor target(std::int64_t first, std::int64_t count) const;  // what the unit gives in the float network

 private:
  const Streams& streams_;
  const std::size_t unit_;
  Executor& executor_;
  const std::vector<std::string> outputs_, rows_, shared_;
};

// Throws unless the network gives logits, as far as its shapes are known.
void check_predicts(const Graph& network);

// What the float network gives for every item. Throws unless it has one float output.
std::unique_ptr<RowStore> prediction_of(RestOfNetwork& rest, const Streams& streams, RowPool& pool);

}  // namespace quench
