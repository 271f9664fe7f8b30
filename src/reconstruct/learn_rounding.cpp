#include "reconstruct/learn_rounding.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "kernels/affine/learned.h"
#include "kernels/replay.h"
#include "quench/error.h"
#include "quench/op.h"
#include "reconstruct/adam.h"
#include "reconstruct/method_options.h"
#include "reconstruct/rounding.h"
#include "reconstruct/scales_at_work.h"

namespace quench {
namespace {

constexpr std::int64_t kShowEvery = 50, kLookEvery = 250;
constexpr double kConverged = 1e-3;  // share of roundings that are still open

struct Settings {
  explicit Settings(const Options& options)
      : iterations(static_cast<std::int64_t>(options.number("max_count"))),
        warm_up(options.number("warm_up")),
        weight(options.number("weight")),
        rate(options.number("lr")),
        scale_rate(options.number("scale_lr")),
        bias_rate(options.number("bias_lr")),
        prob(options.number("prob")),
        relative(options.word("loss") == "relative"),
        early_stop(options.flag("early_stop")) {
    std::tie(beta_from, beta_to) = two_numbers(options, "b_range");
  }
  std::int64_t iterations;
  double warm_up, weight, rate, scale_rate, bias_rate, prob, beta_from = 0, beta_to = 0;
  bool relative, early_stop;

  std::int64_t begin() const { return static_cast<std::int64_t>(warm_up * static_cast<double>(iterations)); }
  // Falls linearly from the end of the warm-up on.
  double beta(std::int64_t step) const {
    const double share =
        static_cast<double>(step - begin()) / static_cast<double>(std::max<std::int64_t>(iterations - begin(), 1));
    return beta_to + (beta_from - beta_to) * std::max(0.0, 1.0 - share);
  }
  // Half a cosine, from 1 to 0.
  double decay(std::int64_t step) const {
    return 0.5 * (1 + std::cos(M_PI * static_cast<double>(step) / static_cast<double>(iterations)));
  }
};

// Each element from the quantized network with this probability, else from the float one (QDrop, Wei et al. 2022,
// section 4.2). By QDrop's own loop, with a step so large that every element that it quantizes is 0: what remains of
// the difference are the elements that it leaves.
at::Tensor mixed(const at::Tensor& quantized, const at::Tensor& plain, double prob, const RandomKey& key) {
  static const QScheme scheme;
  const at::Tensor scale = at::full({}, 1e30, quantized.options()), zero = at::zeros({}, quantized.options());
  return qdrop_forward(plain - quantized, {scale, zero, scheme}, prob, key).add_(quantized);
}

// Channels are the last axis of sequences, the second of all else.
double channels_of(const UnitWork& work, const at::Tensor& y) {
  if (y.dim() < 2) return 1;
  const Node* layer = work.weights().empty() ? nullptr : work.weights().back()->output().uses().front().node;
  const bool is_sequence = y.dim() == 3 && layer && entry_of(*layer).traits.channel_axis != 1;
  const bool is_product = y.dim() == 3 && layer && (layer->op() == "MatMul" || layer->op() == "Gemm");
  return static_cast<double>(y.size(is_sequence || is_product ? 2 : 1));
}

// What the squared error is divided by, so that the regulariser weighs the same in every unit: the mean energy of an
// element of the float output.
double energy_of(const UnitWork& work) {
  const at::Tensor rows = at::arange(std::min<std::int64_t>(work.items(), 256), at::kLong);
  const double energy = work.target(rows.to(at::Device(work.device()))).square().mean().item<double>();
  return energy > 0 ? energy : 1.0;
}

// A mask with infinities, and what is the same for all items, is the same in both networks.
bool is_mixable(const Unit& unit, const std::string& input, const at::Tensor& value) {
  const std::vector<std::string>& shared = unit.shared_inputs;
  return std::find(shared.begin(), shared.end(), input) == shared.end() && value.scalar_type() == at::kFloat &&
         value.isfinite().all().item<bool>();
}

// What changes from step to step, where the step finds it: on the device, so that a captured step sees it change.
class Knobs {
 public:
  Knobs(const Settings& settings, const UnitWork& work)
      : settings_(settings),
        work_(work),
        rows_(work.draw(0)),
        counter_(at::zeros({1}, rows_.options())),
        numbers_(at::zeros({5}, rows_.options().dtype(at::kFloat))) {}

  void turn(std::int64_t step) {
    rows_.copy_(work_.draw(step));
    counter_.fill_(step);
    const bool warm = step >= settings_.begin();
    const double decay = settings_.decay(step);
    const std::vector<double> now = {settings_.rate, settings_.scale_rate * decay, warm ? settings_.weight : 0.0,
                                     settings_.beta(step), settings_.bias_rate * decay};
    numbers_.copy_(at::tensor(now, at::kFloat));
  }
  const at::Tensor& rows() const { return rows_; }
  const at::Tensor& counter() const { return counter_; }
  at::Tensor rate() const { return numbers_.select(0, 0); }
  at::Tensor scale_rate() const { return numbers_.select(0, 1); }
  at::Tensor weight() const { return numbers_.select(0, 2); }
  at::Tensor beta() const { return numbers_.select(0, 3); }
  at::Tensor bias_rate() const { return numbers_.select(0, 4); }

 private:
  const Settings& settings_;
  const UnitWork& work_;
  at::Tensor rows_, counter_, numbers_;
};

class Loop {
 public:
  Loop(UnitWork& work, bool learn_scales)
      : work_(work),
        settings_(work.options()),
        scales_(work.activations(), settings_.prob, learn_scales),
        knobs_(settings_, work),
        channels_(channels_of(work, work.target(knobs_.rows()))) {
    Tensors alphas;
    for (const Node* node : work.weights()) {
      roundings_.emplace_back(*node, work.device());
      alphas.push_back(roundings_.back().alpha());
    }
    rounding_ = std::make_unique<Adam>(alphas);
    if (settings_.bias_rate > 0) {
      for (const Value* bias : work.biases()) {
        biases_.push_back(bias->tensor().detach().to(at::Device(work.device())).clone().requires_grad_());
        work.replace(*bias, biases_.back());
      }
      shifting_ = std::make_unique<Adam>(biases_);
    }
    if (settings_.relative) factor_ = 1.0 / (energy_of(work) * channels_);
    for (const auto& [name, value] : work.quantized_inputs(knobs_.rows()))
      if (is_mixable(work.unit(), name, value.tensor())) mixed_.insert(name);
  }

  void run(UnitRecord& record) {
    if (roundings_.empty()) return;
    learn(record);
    double elements = 0;
    for (const Rounding& one : roundings_) {
      const auto count = static_cast<double>(one.alpha().numel());
      record.moved += one.moved() * count;
      elements += count;
      work_.commit(*one.quantizer().input(0), one.hard());
    }
    record.moved /= elements;
    for (std::size_t i = 0; i < biases_.size(); ++i) work_.commit(*work_.biases()[i], biases_[i]);
  }

 private:
  void learn(UnitRecord& record) {
    captured_ = work_.stays_on_device();
    if (captured_) work_.count_by(knobs_.counter());
    Replay replay(captured_ ? work_.device() : "cpu", [this] { step(); });
    bool open = true;
    for (record.iterations = 0; open && record.iterations < settings_.iterations; ++record.iterations) {
      now_ = record.iterations;
      knobs_.turn(now_);
      replay.run();
      if ((now_ + 1) % kShowEvery == 0) work_.progress(now_ + 1, settings_.iterations);
      open = !has_converged(now_);
    }
  }

  void step() {
    for (const Rounding& one : roundings_) work_.replace(one.quantizer().output(), one.soft());
    const at::Tensor y = work_.run(inputs(), number());
    const at::Tensor wanted = work_.target(knobs_.rows());
    // The gradient of the loss, without recording it.
    y.backward((y.detach() - wanted).mul_(2 * factor_ * channels_ / static_cast<double>(wanted.numel())));
    if (captured_ || now_ >= settings_.begin())
      for (const Rounding& one : roundings_) one.add_penalty_gradient(knobs_.weight(), knobs_.beta());
    rounding_->step(knobs_.rate());
    if (!scaling_) scaling_ = std::make_unique<Adam>(scales_.tensors());  // the first run puts scales on the device
    scaling_->step(knobs_.scale_rate());
    if (shifting_) shifting_->step(knobs_.bias_rate());
  }

  // Of the step, for random choices; a captured one is counted on the device.
  std::uint64_t number() const { return captured_ ? 0 : static_cast<std::uint64_t>(now_); }

  NamedValues inputs() const {
    NamedValues inputs = work_.quantized_inputs(knobs_.rows());
    if (settings_.prob >= 1) return inputs;
    const NamedValues plain = work_.float_inputs(knobs_.rows());
    RandomKey key{work_.seed(), 0, number(), nullptr};
    if (captured_) key.counter = reinterpret_cast<const std::uint64_t*>(knobs_.counter().const_data_ptr());
    for (auto& [name, value] : inputs) {
      ++key.node;
      if (mixed_.contains(name)) value = RtValue(mixed(value.tensor(), plain.at(name).tensor(), settings_.prob, key));
    }
    return inputs;
  }

  // When all but a few roundings are decided, nothing is left to learn.
  bool has_converged(std::int64_t now) const {
    if (!settings_.early_stop || now < settings_.begin() || (now + 1) % kLookEvery != 0) return false;
    return std::all_of(roundings_.begin(), roundings_.end(),
                       [](const Rounding& one) { return one.undecided() < kConverged; });
  }

  UnitWork& work_;
  const Settings settings_;
  ScalesAtWork scales_;
  Knobs knobs_;
  std::vector<Rounding> roundings_;
  Tensors biases_;
  std::unique_ptr<Adam> rounding_, scaling_, shifting_;
  const double channels_;
  double factor_ = 1.0;          // of the loss
  std::set<std::string> mixed_;  // inputs that are drawn from both networks, element by element
  bool captured_ = false;
  std::int64_t now_ = 0;
};

}  // namespace

void check_rounding_options(const Options& options) {
  check_word(options, "round_mode", {"learned_hard_sigmoid"});
  check_word(options, "loss", {"mse", "relative"});
  check_range(options, "prob", 0, 1);
  check_range(options, "warm_up", 0, 1);
  check_range(options, "max_count", 0, 1e9);
  for (const char* rate : {"lr", "scale_lr", "bias_lr", "weight"}) check_range(options, rate, 0, 1e3);
  const auto [from, to] = two_numbers(options, "b_range");
  QUENCH_CHECK(from >= 1 && to >= 1, "both numbers of the option 'b_range' must be at least 1, not ", from, " and ",
               to);
}

std::vector<OptionInfo> rounding_options(double prob, double iterations) {
  return {{"prob", prob, "probability that an element is the quantized one"},
          {"max_count", iterations, "iterations per unit"},
          {"lr", 1e-3, "learning rate of the roundings"},
          {"scale_lr", 4e-5, "learning rate of the activations' scales; 0: they stay"},
          {"bias_lr", 0.0, "learning rate of the biases; 0: they stay"},
          {"warm_up", 0.2, "share of the iterations without the regulariser"},
          {"weight", 0.01, "weight of the regulariser (lambda)"},
          {"b_range", "20,2", "the regulariser's exponent, from and to (beta)"},
          {"round_mode", "learned_hard_sigmoid", "how rounding learns"},
          {"loss", "mse", "mse; relative: to the energy of the unit's output"},
          {"early_stop", 0.0, "1: ends a unit when all but one rounding in 1000 are decided"}};
}

void learn_rounding(UnitWork& work, UnitRecord& record, bool learn_scales) {
  Loop(work, learn_scales && work.options().number("scale_lr") > 0).run(record);
}

}  // namespace quench
