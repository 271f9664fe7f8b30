// What all observers share: which data is accepted, and what is kept besides their own statistics.
#include "quench/observer.h"

#include <ATen/ATen.h>

#include <cmath>

#include "core/joined.h"
#include "kernels/statistics/statistics.h"
#include "observers/one_pass.h"
#include "quench/error.h"
#include "quench/statistic.h"

namespace quench {

namespace {

// The range costs every observer one pass, and tells whether the data is finite at no further cost.
TensorRange finite_range(const at::Tensor& x, const QScheme& scheme) {
  at::Tensor min, max;
  min_max(x, scheme, min, max);
  TensorRange range{floats_of(min), floats_of(max)};
  for (std::size_t i = 0; i < range.min.size(); ++i) {
    QUENCH_CHECK(!std::isnan(range.min[i]), "the tensor holds NaN");
    QUENCH_CHECK(std::isfinite(range.min[i]) && std::isfinite(range.max[i]), "the tensor holds an infinity");
  }
  return range;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return "[" + joined(shape, " x ", [](std::int64_t size) { return std::to_string(size); }) + "]";
}

constexpr std::int64_t kMostBatches = std::int64_t{1} << 53;  // beyond that a count cannot be true
constexpr std::int64_t kMostScales = std::int64_t{1} << 31;

std::vector<std::int64_t> checked_shape(const std::vector<std::int64_t>& shape, const QScheme& scheme, bool seen) {
  if (!seen) return {};
  const bool fits = scheme.per_tensor()                             ? shape.empty()
                    : scheme.granularity() == Granularity::kChannel ? shape.size() == 1
                                                                    : !shape.empty();
  QUENCH_CHECK(fits, "scales of the shape ", shape_text(shape), " do not fit the scheme '", scheme.text(), "'");
  std::int64_t scales = 1;
  for (const std::int64_t size : shape) {
    QUENCH_CHECK(size >= 1 && size <= kMostScales / scales, "scales of the shape ", shape_text(shape),
                 " are impossible: each size must be positive, and their product at most ", kMostScales);
    scales *= size;
  }
  return shape;
}

}  // namespace

void Observer::count_items(std::int64_t items, std::int64_t of) {
  items_ = items;
  of_ = of;
}

at::Tensor Observer::counted(const at::Tensor& x) const {
  if (items_ == of_) return x;
  if (x.dim() > 0 && x.size(0) % of_ == 0) return x.narrow(0, 0, x.size(0) / of_ * items_);
  return seen() ? x.new_empty({0}) : x;
}

void Observer::observe(const at::Tensor& batch) {
  if (!join_shares_) return see(batch);
  const std::map<std::string, at::Tensor> before = state();
  see(batch);
  join_shares_(before);
}

void Observer::see(const at::Tensor& batch) {
  const at::Tensor x = counted(batch);
  if (x.numel() == 0) return;
  with_context([&] { return concat("in observer '", kind_, "'"); },
               [&] {
                 QUENCH_CHECK(x.is_floating_point(), "an observer takes floating-point data, not ", x.scalar_type());
                 const at::Tensor data = x.detach().to(at::kFloat);
                 const std::vector<std::int64_t> shape = scheme_.scale_shape(data.sizes().vec());
                 QUENCH_CHECK(!seen() || shape == shape_, "scales of the shape ", shape_text(shape),
                              " after batches with ", shape_text(shape_));
                 auto* quick = seen() ? dynamic_cast<OnePass*>(this) : nullptr;
                 GridHistogram* histogram = quick ? quick->all_that_is_kept() : nullptr;
                 if (histogram && histogram->add_in_one_pass(data, scheme_)) return;
                 const TensorRange range = finite_range(data, scheme_);
                 shape_ = shape;
                 or_reset([&] { add(data, range); });
               });
  ++batches_;
}

// A first batch (or a state) that fails half-way must not leave half of its statistics behind.
void Observer::or_reset(const std::function<void()>& body) {
  try {
    body();
  } catch (...) {
    if (!seen()) reset();
    throw;
  }
}

QParams Observer::qparams() const {
  return with_context([&] { return concat("in observer '", kind_, "'"); },
                      [&] {
                        QUENCH_CHECK(seen() || !needs_data_, "nothing was observed");
                        return compute();
                      });
}

std::size_t Observer::entries() const {
  std::size_t count = 1;
  for (const std::int64_t size : shape_) count *= static_cast<std::size_t>(size);
  return count;
}

void Observer::merge(const Observer& other) {
  QUENCH_CHECK(kind_ == other.kind_, "an observer '", kind_, "' cannot merge with an observer '", other.kind_, "'");
  QUENCH_CHECK(scheme_ == other.scheme_, "observers of the schemes '", scheme_.text(), "' and '", other.scheme_.text(),
               "' cannot merge");
  QUENCH_CHECK(options_.values() == other.options_.values(), "observers with different options cannot merge");
  if (!other.seen()) return;
  QUENCH_CHECK(!seen() || shape_ == other.shape_, "observers with scales of the shapes ", shape_text(shape_), " and ",
               shape_text(other.shape_), " cannot merge");
  shape_ = other.shape_;
  add_all(other);
  batches_ += other.batches_;
}

void Observer::reset() {
  clear();
  batches_ = 0;
  shape_.clear();
}

std::map<std::string, at::Tensor> Observer::state() const {
  std::map<std::string, at::Tensor> state = seen() ? save() : std::map<std::string, at::Tensor>();
  state["batches"] = at::scalar_tensor(batches_, at::kLong);
  state["shape"] = state_of(shape_);
  return state;
}

void Observer::load(const std::map<std::string, at::Tensor>& state) {
  with_context([&] { return concat("in the state of an observer '", kind_, "'"); },
               [&] {
                 reset();
                 const std::vector<std::int64_t> batches = integers_of(state, "batches");
                 QUENCH_CHECK(batches.size() == 1 && batches[0] >= 0 && batches[0] < kMostBatches,
                              "'batches' must be one count, from 0 to 2^53");
                 shape_ = checked_shape(integers_of(state, "shape"), scheme_, batches[0] > 0);
                 or_reset([&] {
                   if (batches[0] > 0) restore(state);
                 });
                 batches_ = batches[0];
               });
}

std::unique_ptr<Observer> make_observer(const std::string& name, const QScheme& scheme, const Options& options) {
  const ObserverEntry& entry = ObserverRegistry::instance().get(name);
  QUENCH_CHECK(entry.per_channel || scheme.per_tensor(), "observer '", name, "' works per tensor only, not with '",
               scheme.text(), "'");
  QUENCH_CHECK(entry.affine || (scheme.is_int() && scheme.symmetric()), "observer '", name,
               "' takes symmetric integer schemes only, not '", scheme.text(), "'");
  const Options checked = options.checked(entry.options, "observer '" + name + "'");
  std::unique_ptr<Observer> observer =
      with_context([&] { return concat("in observer '", name, "'"); }, [&] { return entry.make(scheme, checked); });
  observer->kind_ = name;
  observer->options_ = checked;
  observer->refreshable_ = entry.refreshable;
  observer->needs_data_ = entry.needs_data;
  return observer;
}

}  // namespace quench
