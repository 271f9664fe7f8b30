// One of the processes that train a model together: its share of each batch, and what they put together in each step,
// so that all have the same parameters after it. One alone takes whole batches, and nothing is put together.
#pragma once

#include <memory>
#include <vector>

#include "qat/augment.h"
#include "qat/training_graph.h"
#include "quench/distributed.h"
#include "quench/op.h"

namespace quench {

class TrainTogether {
 public:
  // All begin with the first one's tensors. From then on an observer that saw this process's share of a batch becomes,
  // there and then, the one that saw the batch. `processes` null: one alone. The graph must outlive it.
  TrainTogether(const Processes* processes, TrainingGraph& graph, bool sync_bn = true);
  ~TrainTogether();

  const Processes& processes() const { return all_; }
  bool is_first() const { return all_.is_first(); }

  // Throws if batches of that size of this data cannot be shared.
  void check_batch(const Dataset& data, std::int64_t batch) const;
  // For a Loader: this process's share of each batch; `order.batch_size` and `order.offset` count items of all.
  LoadOptions share_of(LoadOptions order) const;
  PartOfBatch part(std::int64_t items) const;        // that this process's items are
  std::uint64_t own_seed(std::uint64_t seed) const;  // of dropout: another one in each process
  // How much the mean over `targets` of this process weighs in that over all, times their number: 1 if all have equally
  // many.
  double weight_of(double targets) const;

  bool any(bool here) const;  // whether it is true in any process; all must ask

  // A step: forward, backward, finish; then the optimizer's part.
  void backward(const at::Tensor& loss);      // gradients are what one process finds for the whole batch
  at::Tensor finish(const at::Tensor& loss);  // the mean loss; running statistics are averaged

 private:
  void average_statistics(at::Tensor& loss) const;
  void share_observers() const;

  const Processes alone_;
  const Processes& all_;
  TrainingGraph& graph_;
  const BatchShares shares_;
  std::unique_ptr<AveragedGradients> gradients_;
};

}  // namespace quench
