// The part of every observer that is the same: what is let in, and what is kept beside its own statistics.
#include "quench/observer.h"

#include <ATen/ATen.h>

#include "quench/error.h"

namespace quench {

void Observer::observe(const at::Tensor& x) {
  if (x.numel() == 0) return;
  QUENCH_CHECK(x.is_floating_point(), "an observer takes floating-point data, not ", x.scalar_type());
  const at::Tensor data = x.detach().to(at::kFloat);
  add(data);
  ++batches_;
}

QParams Observer::qparams() const {
  return with_context([&] { return concat("in observer '", kind_, "'"); },
                      [&] {
                        QUENCH_CHECK(seen(), "nothing was observed");
                        return compute();
                      });
}

void Observer::merge(const Observer& other) {
  QUENCH_CHECK(kind_ == other.kind_, "an observer '", kind_, "' cannot merge with an observer '", other.kind_, "'");
  QUENCH_CHECK(scheme_ == other.scheme_, "observers of the schemes '", scheme_.text(), "' and '", other.scheme_.text(),
               "' cannot merge");
  QUENCH_CHECK(options_.values() == other.options_.values(), "observers with different options cannot merge");
  if (!other.seen()) return;
  add_all(other);
  batches_ += other.batches_;
}

void Observer::reset() {
  clear();
  batches_ = 0;
}

std::map<std::string, at::Tensor> Observer::state() const {
  std::map<std::string, at::Tensor> state = seen() ? save() : std::map<std::string, at::Tensor>();
  state["batches"] = at::scalar_tensor(batches_, at::kLong);
  return state;
}

void Observer::load(const std::map<std::string, at::Tensor>& state) {
  const auto at = state.find("batches");
  QUENCH_CHECK(at != state.end(), "the state of an observer '", kind_, "' has no entry 'batches'");
  reset();
  const auto batches = at->second.item<std::int64_t>();
  if (batches > 0) restore(state);
  batches_ = batches;
}

std::unique_ptr<Observer> make_observer(const std::string& name, const QScheme& scheme, const Options& options) {
  const ObserverEntry& entry = ObserverRegistry::instance().get(name);
  QUENCH_CHECK(entry.per_channel || scheme.per_tensor(), "observer '", name, "' works per tensor only, not with '",
               scheme.text(), "'");
  const Options checked = options.checked(entry.options, "observer '" + name + "'");
  std::unique_ptr<Observer> observer = entry.make(scheme, checked);
  observer->kind_ = name;
  observer->options_ = checked;
  observer->refreshable_ = entry.refreshable;
  return observer;
}

}  // namespace quench
