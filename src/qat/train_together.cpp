#include "qat/train_together.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <cmath>
#include <set>

#include "core/hash.h"
#include "data/batch_size.h"
#include "data/data_description.h"
#include "distributed/check_same.h"
#include "quench/error.h"
#include "quench/observer.h"
#include "quench/quantizers.h"

namespace quench {
namespace {

std::vector<at::Tensor> tensors_of(const std::vector<TrainedParameter>& parameters) {
  std::vector<at::Tensor> tensors;
  for (const TrainedParameter& one : parameters) tensors.push_back(one.value->tensor());
  return tensors;
}

// LSQ divides what a scale learns from by the root of the number of elements that it saw, which for activations grows
// with the batch: of a share it is smaller than of the whole.
bool goes_by_elements(const FakeQuantSpec& spec) {
  return spec.role == Role::kActivation && spec.options.has("grad_scaling") && spec.options.flag("grad_scaling");
}

std::vector<at::Tensor> learned_by_elements(const Graph& graph) {
  std::set<const Value*> found;
  for (const Node* node : quantizers_of(graph)) {
    if (!goes_by_elements(fake_quant_of(*node)->spec())) continue;
    for (std::size_t slot = 1; slot < node->inputs().size(); ++slot)
      if (node->inputs()[slot]->is_parameter()) found.insert(node->inputs()[slot]);
  }
  std::vector<at::Tensor> tensors;
  for (const Value* value : found) tensors.push_back(value->tensor());
  return tensors;
}

}  // namespace

TrainTogether::TrainTogether(const Processes* processes, TrainingGraph& graph, bool sync_bn)
    : all_(processes ? *processes : alone_),
      graph_(graph),
      shares_{all_.size(), [this](at::Tensor& tensor) { all_.mean(tensor); }} {
  if (!all_.are_several()) return;
  if (sync_bn) graph.set_shares(&shares_);
  for (const auto& [name, tensor] : graph.state()) {
    at::Tensor shared = tensor.detach();
    all_.broadcast(shared);
  }
  share_observers();
  gradients_ = std::make_unique<AveragedGradients>(all_, tensors_of(graph.parameters()));
}

TrainTogether::~TrainTogether() {
  graph_.set_shares(nullptr);
  for (const bool of_data : {true, false})
    for (Observer* one : graph_.observers_of(of_data)) one->share_batches(nullptr);
}

// Everyone's graph runs in the same order. Those of weights see the same everywhere, but the last bit of a sum may
// depend on the number of threads.
void TrainTogether::share_observers() const {
  for (Observer* one : graph_.observers_of(/*of_data=*/true))
    one->share_batches([this, one](const TensorMap& before) { join_shares(all_, {one}, {before}); });
  for (Observer* one : graph_.observers_of(/*of_data=*/false))
    one->share_batches([this, one](const TensorMap&) { copy_first_observers(all_, {one}); });
}

void TrainTogether::check_batch(const Dataset& data, std::int64_t batch) const {
  if (!all_.are_several()) return;
  const std::int64_t fixed = fixed_batch(graph_.graph(), &data);
  QUENCH_CHECK(fixed <= 0, "the model fixes its batch at ", fixed,
               ", of which several processes cannot take shares: train it in one, or leave its batch dimension open");
  QUENCH_CHECK(batch % all_.size() == 0, "a batch of ", batch, " items cannot be shared by ", all_.size(),
               " processes: it must be a multiple of their number");
  check_same(&all_, "data", [&] { return data_description(data); });
  QUENCH_CHECK(data.size() >= batch, "the training data has ", data.size(), " items, fewer than one batch of ", batch,
               ": several processes need a whole one");
}

// Parts of a Loader are whole batches in turn: shares of a batch are just that, one for each process.
LoadOptions TrainTogether::share_of(LoadOptions order) const {
  if (!all_.are_several()) return order;
  order.batch_size /= all_.size();
  order.part = all_.rank();
  order.parts = all_.size();
  order.drop_last = true;
  return order;
}

PartOfBatch TrainTogether::part(std::int64_t items) const { return {all_.rank() * items, all_.size() * items}; }

std::uint64_t TrainTogether::own_seed(std::uint64_t seed) const {
  return is_first() ? seed : stable_hash(concat(seed, " process ", all_.rank()));
}

double TrainTogether::weight_of(double targets) const {
  if (!all_.are_several()) return 1;
  at::Tensor mean = at::full({1}, targets, at::kDouble);
  all_.mean(mean);
  return targets == 0 ? 0 : targets / mean.item<double>();
}

bool TrainTogether::any(bool here) const {
  if (!all_.are_several()) return here;
  at::Tensor most = at::full({1}, here ? 1.0 : 0.0, at::kDouble);
  all_.max(most);
  return most.item<double>() > 0;
}

void TrainTogether::backward(const at::Tensor& loss) {
  if (gradients_) gradients_->begin();
  loss.backward();
  if (!gradients_) return;
  gradients_->finish();
  const c10::NoGradGuard no_grad;
  for (const at::Tensor& one : learned_by_elements(graph_.graph()))
    if (one.grad().defined()) one.grad().mul_(1.0 / std::sqrt(all_.size()));
}

at::Tensor TrainTogether::finish(const at::Tensor& loss) {
  if (!all_.are_several()) return loss.detach();
  const c10::NoGradGuard no_grad;
  at::Tensor mean = loss.detach().to(at::kDouble).reshape({1});
  average_statistics(mean);
  return mean;
}

// In one go with the loss. A mean of equal floats is that float, in double.
void TrainTogether::average_statistics(at::Tensor& loss) const {
  const std::vector<at::Tensor> statistics = graph_.running_statistics();
  std::vector<at::Tensor> parts = {loss};
  for (const at::Tensor& one : statistics) parts.push_back(one.detach().to(loss.device(), at::kDouble).flatten());
  at::Tensor flat = at::cat(parts);
  all_.mean(flat);
  loss = flat.narrow(0, 0, 1);
  std::int64_t begin = 1;
  for (const at::Tensor& one : statistics) {
    one.detach().copy_(flat.narrow(0, begin, one.numel()).view(one.sizes()));
    begin += one.numel();
  }
}

}  // namespace quench
