#include "reconstruct/knobs.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "reconstruct/method_options.h"

namespace quench {
namespace {

constexpr const char* kStraightThrough = "straight_through";

}  // namespace

RoundingSettings::RoundingSettings(const Options& options)
    : iterations(static_cast<std::int64_t>(options.number("max_count"))),
      warm_up(options.number("warm_up")),
      weight(options.number("weight")),
      rate(options.number("lr")),
      scale_rate(options.number("scale_lr")),
      weight_scale_rate(options.number("weight_scale_lr")),
      bias_rate(options.number("bias_lr")),
      prob(options.number("prob")),
      prediction(options.number("prediction")),
      straight_through(options.word("round_mode") == kStraightThrough),
      relative(options.word("loss") == "relative"),
      fisher(options.word("loss") == "fisher"),
      early_stop(options.flag("early_stop")),
      capture(options.flag("capture")) {
  std::tie(beta_from, beta_to) = two_numbers(options, "b_range");
}

RoundingSettings RoundingSettings::joint(const Options& options) {
  RoundingSettings settings(options);
  settings.iterations = static_cast<std::int64_t>(options.number("joint_count"));
  settings.rate = options.number("joint_lr");
  settings.scale_rate = options.number("joint_scale_lr");
  settings.warm_up = options.number("joint_warm_up");
  if (const std::string mode = options.word("joint_round_mode"); mode != "same")
    settings.straight_through = mode == kStraightThrough;
  settings.prob = 1;  // what is learned last is learned on the network as it will be
  return settings;
}

// Without a regulariser that decides them, codes come to rest because steps become smaller.
double RoundingSettings::rate_at(std::int64_t step) const { return straight_through ? rate * decay(step) : rate; }

std::int64_t RoundingSettings::begin() const {
  return static_cast<std::int64_t>(warm_up * static_cast<double>(iterations));
}

double RoundingSettings::beta(std::int64_t step) const {
  const double share =
      static_cast<double>(step - begin()) / static_cast<double>(std::max<std::int64_t>(iterations - begin(), 1));
  return beta_to + (beta_from - beta_to) * std::min(1.0, std::max(0.0, 1.0 - share));
}

double RoundingSettings::decay(std::int64_t step) const {
  return 0.5 * (1 + std::cos(M_PI * static_cast<double>(step) / static_cast<double>(iterations)));
}

std::int64_t runs_per_step(const UnitWork& work) {
  const std::int64_t batch = work.batch(), wanted = static_cast<std::int64_t>(work.options().number("batch"));
  return std::max<std::int64_t>(1, std::min(wanted, work.items()) / batch);
}

struct Knobs::State {
  at::Tensor counter, draws, numbers;  // the latter two for all steps of the window
  at::Tensor rows, now;                // theirs for the present step; rows of each run
};

Knobs::Knobs(const RoundingSettings& settings, const UnitWork& work)
    : settings_(settings), work_(work), runs_(runs_per_step(work)), state_(std::make_unique<State>()) {
  state_->counter = at::zeros({1}, at::dtype(at::kLong).device(at::Device(work.device())));
  turn(0);
  look();
}

Knobs::~Knobs() = default;

void Knobs::turn(std::int64_t step) {
  if (step % kWindow == 0) fill(step);
  state_->counter.fill_(step);
}

void Knobs::look() {
  const at::Tensor place = state_->counter.remainder(kWindow);
  state_->rows = state_->draws.index_select(0, place).squeeze(0);
  state_->now = state_->numbers.index_select(0, place).squeeze(0);
}

const at::Tensor& Knobs::counter() const { return state_->counter; }
at::Tensor Knobs::rows(std::int64_t run) const { return state_->rows.select(0, run); }
at::Tensor Knobs::rate() const { return state_->now.select(0, 0); }
at::Tensor Knobs::scale_rate() const { return state_->now.select(0, 1); }
at::Tensor Knobs::weight_scale_rate() const { return state_->now.select(0, 2); }
at::Tensor Knobs::bias_rate() const { return state_->now.select(0, 3); }
at::Tensor Knobs::weight() const { return state_->now.select(0, 4); }
at::Tensor Knobs::beta() const { return state_->now.select(0, 5); }

// Tensors stay where they are: a captured step knows their addresses.
void Knobs::fill(std::int64_t first) {
  const std::int64_t count = std::clamp<std::int64_t>(settings_.iterations - first, 1, kWindow);
  std::vector<float> numbers;
  for (std::int64_t step = first; step < first + count; ++step) {
    const double decay = settings_.decay(step), weight = step >= settings_.begin() ? settings_.weight : 0.0;
    for (const double one : {settings_.rate_at(step), settings_.scale_rate * decay, settings_.weight_scale_rate * decay,
                             settings_.bias_rate * decay, weight, settings_.beta(step)})
      numbers.push_back(static_cast<float>(one));
  }
  const at::Tensor table = at::tensor(numbers).reshape({count, -1}),
                   draws = work_.draws(first * runs_, count * runs_).reshape({count, runs_, -1});
  if (first == 0) {
    state_->draws = at::empty_like(draws);
    state_->numbers = at::empty(table.sizes(), draws.options().dtype(at::kFloat));
  }
  state_->draws.narrow(0, 0, count).copy_(draws);
  state_->numbers.narrow(0, 0, count).copy_(table);
}

}  // namespace quench
