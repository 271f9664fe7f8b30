// min_max: the least and the greatest value of all batches. docs/numerics.md 6.1.
#include <ATen/ATen.h>

#include "observers/range.h"

namespace quench {
namespace {

class MinMax : public Observer {
 public:
  MinMax(const QScheme& scheme, const Options&) : Observer(scheme) {}

 protected:
  void add(const at::Tensor&, const TensorRange& range) override { range_.add(range); }
  QParams compute() const override { return qparams_of_range(scheme(), range_.range().min, range_.range().max); }
  void add_all(const Observer& other) override { range_.merge(static_cast<const MinMax&>(other).range_); }
  void clear() override { range_.clear(); }
  State save() const override {
    State state;
    range_.save(state);
    return state;
  }
  void restore(const State& state) override { range_.restore(state, entries()); }

 private:
  RunningRange range_;
};

}  // namespace

QUENCH_REGISTER_ITEM(ObserverEntry, "min_max", "least and greatest value of all batches",
                     {new_observer<MinMax>, {}, true, true})

}  // namespace quench
