// lsq: s = 2 mean|x| / sqrt(qmax), where learned step sizes start (Esser 2020). docs/numerics.md 6.7; over all batches.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "observers/moments.h"

namespace quench {
namespace {

class Lsq : public MomentsObserver {
 public:
  Lsq(const QScheme& scheme, const Options&) : MomentsObserver(scheme) {}

 protected:
  QParams compute() const override {
    // One signed bit has the codes -1 and 0: its positive side counts as one.
    const double codes = scheme().is_int() ? std::max(scheme().qmax(), 1) : scheme().largest();
    std::vector<float> scale;
    for (std::size_t i = 0; i < entries(); ++i)
      scale.push_back(static_cast<float>(2 * moments().mean_absolute(i) / std::sqrt(codes)));
    return qparams_of_scale(scheme(), scale, range().min);
  }
};

}  // namespace

QUENCH_REGISTER_ITEM(ObserverEntry, "lsq", "scale of 2 mean|x| / sqrt(qmax): where LSQ starts",
                     {new_observer<Lsq>, {}, true, true})

}  // namespace quench
