// LSQObserver: s = 2 mean|x| / sqrt(quant_max), where learned step sizes start (https://arxiv.org/abs/1902.08153); the
// zero point comes from the range.
#include <ATen/ATen.h>

#include <cmath>

#include "quench/statistic.h"

namespace {

using quench::State;

// The sum of |x| over all batches, one per scale, and the number of elements behind each.
class Magnitude : public quench::Statistic {
 public:
  void add(const at::Tensor& x, const quench::QScheme& scheme) {
    const at::Tensor rows =
        scheme.per_tensor() ? x.reshape({1, -1}) : x.movedim(scheme.axis_of(static_cast<int>(x.dim())), 0).flatten(1);
    const std::vector<double> sums = quench::doubles_of(rows.abs().sum({1}, false, at::kDouble).cpu());
    sum_.resize(sums.size());
    for (std::size_t i = 0; i < sums.size(); ++i) sum_[i] += sums[i];
    count_ += static_cast<double>(rows.size(1));
  }
  double mean(std::size_t i) const { return sum_[i] / count_; }

  void add_all(const Statistic& other, const quench::BatchCounts&) override {
    const auto& more = static_cast<const Magnitude&>(other);
    sum_.resize(more.sum_.size());
    for (std::size_t i = 0; i < sum_.size(); ++i) sum_[i] += more.sum_[i];
    count_ += more.count_;
  }
  void clear() override { *this = {}; }
  void save(State& state) const override {
    state["magnitude"] = quench::state_of(sum_);
    state["elements"] = quench::state_of(std::vector<double>{count_});
  }
  void restore(const State& state, std::size_t entries) override {
    sum_ = quench::doubles_of(state, "magnitude", entries);
    count_ = quench::doubles_of(state, "elements", 1)[0];
  }

 private:
  std::vector<double> sum_;
  double count_ = 0;
};

class LSQObserver : public quench::StatisticsObserver {
 public:
  LSQObserver(const quench::QScheme& scheme, const quench::Options&) : StatisticsObserver(scheme) {
    keep(range_);
    keep(magnitude_);
  }

 protected:
  void add(const at::Tensor& x, const quench::TensorRange& range) override {
    range_.add(range);
    magnitude_.add(x, scheme());
  }
  quench::QParams compute() const override {
    std::vector<float> scale;
    for (std::size_t i = 0; i < entries(); ++i)
      scale.push_back(static_cast<float>(2 * magnitude_.mean(i) / std::sqrt(static_cast<double>(scheme().qmax()))));
    return quench::qparams_of_scale(scheme(), scale, range_.range().min);
  }

 private:
  quench::RunningRange range_;
  Magnitude magnitude_;
};

}  // namespace

QUENCH_REGISTER_ITEM(quench::ObserverEntry, "my_lsq", "where LSQ starts: 2 mean|x| / sqrt(quant_max)",
                     {.make = quench::new_observer<LSQObserver>, .options = {}, .refreshable = true})
