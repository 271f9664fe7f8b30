// Gradients in buckets, the way of PyTorch's DistributedDataParallel (Li et al. 2020, section 3.2): adding up begins in
// the middle of backward. Buckets are started in the same order everywhere, whatever the order in which they fill.
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <mutex>

#include "quench/distributed.h"
#include "quench/error.h"

namespace quench {
namespace {

struct Bucket {
  std::vector<std::size_t> members;  // parameters
  std::vector<at::Tensor> places;    // of their gradients in `flat`
  at::Tensor flat;                   // behind the gradients, one element per member: in how many processes it came
  std::size_t missing = 0;           // members whose gradient has not come yet
  std::function<void()> wait;

  at::Tensor came() const { return flat.narrow(0, flat.numel() - count(), count()); }
  std::int64_t count() const { return static_cast<std::int64_t>(members.size()); }
};

Bucket make_bucket(const std::vector<at::Tensor>& parameters, std::vector<std::size_t> members) {
  Bucket bucket;
  std::int64_t elements = static_cast<std::int64_t>(members.size()), begin = 0;
  for (const std::size_t member : members) elements += parameters[member].numel();
  bucket.flat = at::zeros({elements}, parameters[members[0]].options().requires_grad(false));
  for (const std::size_t member : members) {
    bucket.places.push_back(bucket.flat.narrow(0, begin, parameters[member].numel()).view(parameters[member].sizes()));
    begin += parameters[member].numel();
  }
  bucket.members = std::move(members);
  return bucket;
}

// In this order, each as large as fits; what differs in type or device lies apart.
std::vector<Bucket> make_buckets(const std::vector<at::Tensor>& parameters, const std::vector<std::size_t>& order,
                                 std::size_t most_bytes) {
  std::vector<Bucket> buckets;
  std::vector<std::size_t> members;
  std::size_t bytes = 0;
  const auto close = [&] {
    if (!members.empty()) buckets.push_back(make_bucket(parameters, std::exchange(members, {})));
    bytes = 0;
  };
  for (const std::size_t one : order) {
    const at::Tensor& parameter = parameters[one];
    const bool alike = members.empty() || (parameters[members[0]].dtype() == parameter.dtype() &&
                                           parameters[members[0]].device() == parameter.device());
    if (!alike || bytes + parameter.nbytes() > most_bytes) close();
    members.push_back(one);
    bytes += parameter.nbytes();
  }
  close();
  return buckets;
}

class Hook : public torch::autograd::PostAccumulateGradHook {
 public:
  explicit Hook(std::function<void()> action) : action_(std::move(action)) {}
  void operator()(const at::Tensor&) override { action_(); }

 private:
  std::function<void()> action_;
};

}  // namespace

struct AveragedGradients::State {
  State(const Processes& all, std::vector<at::Tensor> trained, std::size_t most_bytes)
      : processes(all), parameters(std::move(trained)), bucket_bytes(most_bytes), place(parameters.size()) {
    for (std::size_t i = 0; i < parameters.size(); ++i)
      QUENCH_CHECK(parameters[i].is_leaf() && parameters[i].requires_grad(), "parameter ", i,
                   " does not learn: gradients can be averaged of leaves that require them");
    if (!processes.are_several()) return;
    for (std::size_t i = 0; i < parameters.size(); ++i)
      torch::autograd::impl::set_post_acc_grad_hooks(parameters[i], std::make_unique<Hook>([this, i] { arrived(i); }));
  }

  ~State() {
    if (!processes.are_several()) return;
    for (const at::Tensor& parameter : parameters) torch::autograd::impl::set_post_acc_grad_hooks(parameter, nullptr);
  }

  void begin() {
    const std::lock_guard lock(mutex);
    collects = true;
    came.assign(parameters.size(), false);
    arrivals.clear();
    started = 0;
    for (Bucket& bucket : buckets) {
      bucket.flat.zero_();
      bucket.missing = bucket.members.size();
    }
  }

  // From a thread of autograd.
  void arrived(std::size_t parameter) {
    const std::lock_guard lock(mutex);
    if (!collects) return;
    QUENCH_CHECK(!came[parameter], "a second backward ran after begin(): call it ahead of a step's last one");
    came[parameter] = true;
    arrivals.push_back(parameter);
    if (!buckets.empty()) put_in(parameter);
    start_full_ones();
  }

  void put_in(std::size_t parameter) {
    const c10::NoGradGuard no_grad;
    const auto [bucket, member] = place[parameter];
    buckets[bucket].places[member].copy_(parameters[parameter].grad());
    buckets[bucket].came().narrow(0, static_cast<std::int64_t>(member), 1).fill_(1);
    --buckets[bucket].missing;
  }

  void start_full_ones() {
    while (started < buckets.size() && buckets[started].missing == 0) start_next();
  }
  void start_next() {
    buckets[started].wait = processes.start_sum(buckets[started].flat);
    ++started;
  }

  // As the first process met them, then what it did not meet: the same everywhere.
  void find_order() {
    std::vector<std::int64_t> order(arrivals.begin(), arrivals.end());
    for (std::size_t i = parameters.size(); i-- > 0;)
      if (!came[i]) order.push_back(static_cast<std::int64_t>(i));
    at::Tensor shared = at::tensor(order, at::kLong);
    processes.broadcast(shared);
    const auto* begin = shared.const_data_ptr<std::int64_t>();
    buckets = make_buckets(parameters, {begin, begin + shared.numel()}, bucket_bytes);
    for (std::size_t bucket = 0; bucket < buckets.size(); ++bucket) {
      const std::vector<std::size_t>& members = buckets[bucket].members;
      for (std::size_t member = 0; member < members.size(); ++member) place[members[member]] = {bucket, member};
      buckets[bucket].missing = members.size();
    }
    for (const std::size_t parameter : arrivals) put_in(parameter);
  }

  void finish() {
    const std::lock_guard lock(mutex);
    QUENCH_CHECK(collects, "finish() without begin(): no gradient was collected");
    collects = false;
    if (buckets.empty() && !parameters.empty()) find_order();
    while (started < buckets.size()) start_next();
    for (Bucket& bucket : buckets) {
      std::exchange(bucket.wait, nullptr)();
      take_out(bucket);
    }
  }

  void take_out(const Bucket& bucket) {
    const c10::NoGradGuard no_grad;
    const at::Tensor came_to = bucket.came().to(at::kCPU, at::kFloat, /*non_blocking=*/false, /*copy=*/true);
    bucket.flat.div_(processes.size());
    for (std::size_t member = 0; member < bucket.members.size(); ++member) {
      if (came_to.const_data_ptr<float>()[member] == 0) continue;
      at::Tensor& gradient = parameters[bucket.members[member]].mutable_grad();
      if (gradient.defined())
        gradient.copy_(bucket.places[member]);
      else
        gradient = bucket.places[member].clone();
    }
  }

  const Processes& processes;
  std::vector<at::Tensor> parameters;
  const std::size_t bucket_bytes;
  std::mutex mutex;
  bool collects = false;
  std::vector<bool> came;
  std::vector<std::size_t> arrivals;  // in this step
  std::vector<Bucket> buckets;        // empty until the first step has shown the order
  std::size_t started = 0;
  struct Place {
    std::size_t bucket = 0, member = 0;
  };
  std::vector<Place> place;  // by parameter
};

AveragedGradients::AveragedGradients(const Processes& processes, std::vector<at::Tensor> parameters,
                                     std::size_t bucket_bytes)
    : state_(std::make_unique<State>(processes, std::move(parameters), bucket_bytes)) {}
AveragedGradients::~AveragedGradients() = default;

void AveragedGradients::begin() {
  if (state_->processes.are_several()) state_->begin();
}
void AveragedGradients::finish() {
  if (state_->processes.are_several()) state_->finish();
}
std::size_t AveragedGradients::buckets() const { return state_->buckets.size(); }

}  // namespace quench
