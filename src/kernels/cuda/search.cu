// The errors that the searches compare, on CUDA: one pass over the data per candidate.
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/search.h"
#include "quant/power.h"

namespace quench {
namespace {

struct ErrorSum {
  double sum;
  __device__ static ErrorSum none() { return {0.0}; }
  __device__ void merge(const ErrorSum& other) { sum += other.sum; }
};

struct Square {
  __device__ double operator()(float d) const { return static_cast<double>(d) * static_cast<double>(d); }
};
struct Absolute {
  __device__ double operator()(float d) const { return fabsf(d); }
};
struct Power {
  float power;
  __device__ double operator()(float d) const { return power_of(fabsf(d), power); }
};

template <class Term>
struct RangeError {
  using State = ErrorSum;
  using Part = ErrorSum;
  static constexpr int kUnroll = 4, kBlocks = 6, kAhead = 1;
  const float* x;
  CudaRanges ranges;
  RangeTrial trial;
  Term term;
  __device__ Affine context(const AffineView&, std::int64_t channel) const {
    const ScaleRule& rule = trial.rule;
    const auto found = scale_of_range(ranges.min[channel] * trial.factor, ranges.max[channel] * trial.factor, rule);
    return affine_of(found.scale, found.zero_point, rule.qmin, rule.qmax);
  }
  __device__ static Part part(const State& state) { return state; }
  template <int V, class Lanes>
  __device__ void run(Lanes& lanes, std::int64_t i) const {
    const auto in = load<V>(x, i);
#pragma unroll
    for (int k = 0; k < V; ++k) {
      const Affine& a = lanes.context(k);
      lanes.state(k).sum += term(nearest_step(in.v[k] * a.inverse, a.steps) * a.scale - in.v[k]);
    }
  }
};

// Trials follow each other in the stream: the first of equals stays.
struct ToBest {
  CudaRanges ranges;
  float factor;
  __device__ void operator()(std::int64_t channel, const ErrorSum& error) const {
    if (!(error.sum < ranges.least[channel])) return;
    ranges.least[channel] = error.sum;
    ranges.best_min[channel] = ranges.min[channel] * factor;
    ranges.best_max[channel] = ranges.max[channel] * factor;
  }
};

struct StepError {
  using State = ErrorSum;
  using Part = ErrorSum;
  static constexpr int kUnroll = 4, kBlocks = 6, kAhead = 1;
  const float* x;
  StepErrors by;
  struct Context {};
  __device__ static Context context(const AffineView&, std::int64_t) { return {}; }
  __device__ static Part part(const State& state) { return state; }
  __device__ float error(float v) const {
    const float steps = v * by.inverse;
    const float code = by.clamp_first ? round_by(clamp_steps(steps, by.steps), by.rounding)
                                      : clamp_steps(round_by(steps, by.rounding), by.steps);
    return code * by.step - v;
  }
  template <int V, class Lanes>
  __device__ void run(Lanes& lanes, std::int64_t i) const {
    const auto in = load<V>(x, i);
#pragma unroll
    for (int k = 0; k < V; ++k) lanes.state(k).sum += Square()(error(in.v[k]));
  }
};

struct ToSum {
  double* sums;
  __device__ void operator()(std::int64_t channel, const ErrorSum& error) const { sums[channel] = error.sum; }
};

}  // namespace

void cuda_try_range(const AffineView& view, const float* x, const RangeTrial& trial, const CudaRanges& ranges) {
  const ToBest best{ranges, trial.factor};
  if (trial.power == 2.0)
    reduce(view, RangeError<Square>{x, ranges, trial, {}}, aligned(x), best);
  else if (trial.power == 1.0)
    reduce(view, RangeError<Absolute>{x, ranges, trial, {}}, aligned(x), best);
  else
    reduce(view, RangeError<Power>{x, ranges, trial, {static_cast<float>(trial.power)}}, aligned(x), best);
}

void cuda_step_error(std::int64_t count, const float* x, const StepErrors& by, double* sum) {
  reduce(AffineView{1, 1, count}, StepError{x, by}, aligned(x), ToSum{sum});
}

}  // namespace quench
