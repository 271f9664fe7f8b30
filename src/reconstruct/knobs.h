// What a step of learned rounding is told: its learning rates, the regulariser's weight and exponent, its items. All of
// it lies on the device, for many steps at once: a captured step reads its own by the number of the step, and the host
// has nothing to copy, and so nothing to wait for, between two steps.
#pragma once

#include <memory>

#include "quench/ptq_method.h"

namespace quench {

// The options of learn_rounding, and how they change with the steps.
struct RoundingSettings {
  explicit RoundingSettings(const Options& options);
  static RoundingSettings joint(const Options& options);  // of all units together
  std::int64_t iterations;
  double warm_up, weight, rate, scale_rate, weight_scale_rate, bias_rate, prob, prediction, beta_from = 0, beta_to = 0;
  bool straight_through, relative, fisher, early_stop, capture;

  double rate_at(std::int64_t step) const;  // of the roundings
  std::int64_t begin() const;               // of the regulariser
  double beta(std::int64_t step) const;     // falls linearly from there on
  double decay(std::int64_t step) const;    // half a cosine, from 1 to 0
};

// A model that fixes a smaller batch than a step takes runs several times per step; 1 for all others.
std::int64_t runs_per_step(const UnitWork& work);

class Knobs {
 public:
  static constexpr std::int64_t kWindow = 1024;  // steps that are filled in at once

  // Both must outlive it. Stands at the first step.
  Knobs(const RoundingSettings& settings, const UnitWork& work);
  ~Knobs();

  void turn(std::int64_t step);  // before the step; steps come in order
  void look();                   // in the step: from here on the following are those of this step

  const at::Tensor& counter() const;           // the step, int64, one element
  std::int64_t runs() const { return runs_; }  // of a step
  at::Tensor rows(std::int64_t run = 0) const;
  at::Tensor rate() const;
  at::Tensor scale_rate() const;
  at::Tensor weight_scale_rate() const;
  at::Tensor bias_rate() const;
  at::Tensor weight() const;  // of the regulariser
  at::Tensor beta() const;

 private:
  struct State;
  void fill(std::int64_t first);

  const RoundingSettings& settings_;
  const UnitWork& work_;
  const std::int64_t runs_;
  std::unique_ptr<State> state_;
};

}  // namespace quench
