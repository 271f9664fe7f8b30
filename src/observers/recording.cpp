// recording: torch's RecordingObserver. Keeps every tensor that it sees, for debugging: memory grows with the data. Its
// scale is that of min_max (torch's has none), so that a model can be calibrated with it.
#include <ATen/ATen.h>

#include "quench/error.h"
#include "quench/statistic.h"

namespace quench {
namespace {

std::string tensor_name(std::size_t index) { return concat("tensor_", index); }

class Tensors : public Statistic {
 public:
  void add(const at::Tensor& x) { tensors_.push_back(x.clone()); }

  void add_all(const Statistic& other, const BatchCounts&) override {
    const auto& more = static_cast<const Tensors&>(other).tensors_;
    tensors_.insert(tensors_.end(), more.begin(), more.end());
  }
  void clear() override { tensors_.clear(); }
  void save(State& state) const override {
    state["tensors"] = state_of(std::vector<std::int64_t>{static_cast<std::int64_t>(tensors_.size())});
    for (std::size_t i = 0; i < tensors_.size(); ++i) state[tensor_name(i)] = tensors_[i];
  }
  void restore(const State& state, std::size_t) override {
    const std::vector<std::int64_t> count = integers_of(state, "tensors");
    QUENCH_CHECK(count.size() == 1 && count[0] >= 0, "'tensors' must be one count");
    for (std::size_t i = 0; i < static_cast<std::size_t>(count[0]); ++i) {
      const auto found = state.find(tensor_name(i));
      QUENCH_CHECK(found != state.end(), "there is no entry '", tensor_name(i), "'");
      tensors_.push_back(found->second.clone());
    }
  }

 private:
  std::vector<at::Tensor> tensors_;
};

class Recording : public StatisticsObserver {
 public:
  Recording(const QScheme& scheme, const Options&) : StatisticsObserver(scheme) {
    keep(tensors_);
    keep(range_);
  }

 protected:
  void add(const at::Tensor& x, const TensorRange& range) override {
    tensors_.add(x);
    range_.add(range);
  }
  QParams compute() const override { return qparams_of_range(scheme(), range_.range().min, range_.range().max); }

 private:
  Tensors tensors_;
  RunningRange range_;
};

}  // namespace

QUENCH_REGISTER_ITEM(ObserverEntry, "recording", "min_max that keeps every tensor it sees (torch's RecordingObserver)",
                     {new_observer<Recording>, {}, true, false})

}  // namespace quench
