// ema_min_max: the moving average of each batch's least and greatest value. docs/numerics.md 6.2.
#include <ATen/ATen.h>

#include "observers/range.h"

namespace quench {
namespace {

class EmaMinMax : public Observer {
 public:
  EmaMinMax(const QScheme& scheme, const Options& options) : Observer(scheme), range_(options) {}

  bool by_batch() const override { return true; }

 protected:
  void add(const at::Tensor&, const TensorRange& range) override { range_.add(range); }
  QParams compute() const override { return qparams_of_range(scheme(), range_.range().min, range_.range().max); }
  void add_all(const Observer& other) override {
    range_.merge(static_cast<const EmaMinMax&>(other).range_, batches(), other.batches());
  }
  void clear() override { range_.clear(); }
  State save() const override {
    State state;
    range_.save(state);
    return state;
  }
  void restore(const State& state) override { range_.restore(state, entries()); }

 private:
  MovingRange range_;
};

}  // namespace

QUENCH_REGISTER_ITEM(ObserverEntry, "ema_min_max", "moving average of each batch's least and greatest value",
                     {new_observer<EmaMinMax>, MovingRange::options(), true, true})

}  // namespace quench
