// The mean of what each layer reads in the float network: E[x], position by position, exact (ptq/exact_sum.h).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ptq/exact_sum.h"
#include "quench/calibrate.h"
#include "quench/engine.h"

namespace quench {

// As a watcher it sees batches whose first rows count; in a pass of its own, all rows by their share.
class InputMeans : public FloatWatcher {
 public:
  explicit InputMeans(const std::vector<Node*>& layers);

  std::vector<std::string> values() const override;
  void begin_batch(std::int64_t items, std::int64_t rows) override;
  void see(const std::string& value, const at::Tensor& x) override;

  std::vector<Watch> watches();
  void count_as(Share share) { share_ = share; }  // what the next run gives
  void count_items(std::int64_t items) { items_ += items; }

  std::int64_t items() const { return items_; }
  // With a batch dimension of as many rows as the graph declares, one where that is open: it may insist on that.
  at::Tensor of(const Node& layer) const;

 private:
  // By the value that the layer reads. Its rows are not always items: a Reshape may have put other dims into the
  // first.
  std::map<std::string, ExactSum> sums_;
  Share share_;
  std::int64_t copies_ = 0;  // that fill the batch
  std::int64_t items_ = 0;
};

}  // namespace quench
