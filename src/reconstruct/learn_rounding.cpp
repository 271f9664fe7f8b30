#include "reconstruct/learn_rounding.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "kernels/affine/learned.h"
#include "kernels/replay.h"
#include "quench/error.h"
#include "reconstruct/adam.h"
#include "reconstruct/joint_loss.h"
#include "reconstruct/knobs.h"
#include "reconstruct/method_options.h"
#include "reconstruct/rest_of_network.h"
#include "reconstruct/rounding.h"
#include "reconstruct/scales_at_work.h"
#include "reconstruct/unit_loss.h"

namespace quench {
namespace {

constexpr std::int64_t kShowEvery = 50;

// Of early_stop: how often it looks, at how many items of a unit, and when it stops.
constexpr std::int64_t kLookEvery = 250, kLookAt = 256;
constexpr double kLeastGain = 0.01;  // of the loss
constexpr int kPatience = 4;         // looks without that gain
constexpr double kDecided = 0.05;    // by which share hard rounding may cost more than soft

// Each element from the quantized network with this probability, else from the float one (QDrop, Wei et al. 2022,
// section 4.2). By QDrop's own loop, with a step so large that every element that it quantizes is 0: what remains of
// the difference are the elements that it leaves.
class Mixer {
 public:
  Mixer(const std::string& device, double prob)
      : prob_(prob),
        scale_(at::full({}, 1e30, at::dtype(at::kFloat).device(at::Device(device)))),
        zero_(at::zeros_like(scale_)) {}
  double prob() const { return prob_; }
  at::Tensor mixed(const at::Tensor& quantized, const at::Tensor& plain, const RandomKey& key) const {
    static const QScheme scheme;
    return qdrop_forward(plain - quantized, {scale_, zero_, scheme}, prob_, key).add_(quantized);
  }

 private:
  double prob_;
  at::Tensor scale_, zero_;
};

// A mask with infinities, and what is the same for all items, is the same in both networks.
bool is_mixable(const Unit& unit, const std::string& input, const at::Tensor& value) {
  const std::vector<std::string>& shared = unit.shared_inputs;
  return std::find(shared.begin(), shared.end(), input) == shared.end() && value.scalar_type() == at::kFloat &&
         value.isfinite().all().item<bool>();
}

class Loop {
 public:
  Loop(UnitWork& work, const RoundingSettings& settings, bool learn_scales)
      : work_(work),
        settings_(settings),
        scales_(work.activations(), settings_.prob, learn_scales),
        knobs_(settings_, work),
        mixer_(work.device(), settings_.prob) {
    make_roundings();
    if (settings_.bias_rate > 0) make_biases();
    if (joins()) {
      const Options& options = work.options();
      joint_ = std::make_unique<JointLoss>(work, options.number("joint_kl"),
                                           Augment(options.word("joint_augment"), work.seed()));
      return;
    }
    loss_ = std::make_unique<UnitLoss>(settings_, work, knobs_.rows());
    for (const auto& [name, value] : work.quantized_inputs(knobs_.rows()))
      if (is_mixable(work.unit(), name, value.tensor())) mixed_.insert(name);
  }

  void run(UnitRecord& record) {
    if (roundings_.empty()) return;
    const double before = joint_ ? joint_->over_all() : 0;
    learn(record);
    if (joint_ && !is_better_than(before)) {
      scales_.undo();
      record.add_note(UnitRecord::kNotKept);
      return;
    }
    for (const Rounding& one : roundings_) {
      if (one.gain().defined()) work_.commit(*one.quantizer().input(1), one.scale());
      work_.commit(*one.quantizer().input(0), one.hard());
    }
    for (std::size_t i = 0; i < biases_.size(); ++i) work_.commit(*work_.biases()[i], biases_[i]);
  }

 private:
  bool joins() const { return !work_.ends().empty(); }

  // All units together, with hard rounding.
  bool is_better_than(double before) {
    round_hard();
    return joint_->over_all() <= before;
  }

  void round_hard() {
    for (const Rounding& one : roundings_) work_.replace(one.quantizer().output(), one.hard());
  }

  void round_softly() {
    const c10::AutoGradMode no_grad(false);
    for (const Rounding& one : roundings_) work_.replace(one.quantizer().output(), one.soft());
  }

  // All alphas lie in one tensor, so that the regulariser is computed once, not weight by weight.
  void make_roundings() {
    Tensors alphas, gains;
    std::int64_t count = 0;
    for (Node* node : work_.weights()) {
      const bool learn_scale = settings_.weight_scale_rate > 0 && scale_may_learn(*node, {node});
      roundings_.emplace_back(*node, joins() ? work_.calibrated(*node) : *node, work_.device(),
                              RoundingKind{settings_.straight_through, learn_scale});
      if (learn_scale) gains.push_back(roundings_.back().gain());
      count += roundings_.back().alpha().numel();
    }
    alphas_ = at::zeros({count}, at::dtype(at::kFloat).device(at::Device(work_.device())));
    for_parts(alphas_, [&](Rounding& one, const at::Tensor& part) {
      one.move_alpha(part);
      alphas.push_back(one.alpha());
    });
    rounding_ = std::make_unique<Adam>(alphas);
    stretching_ = std::make_unique<Adam>(gains);
  }

  // What belongs to each weight, of what is laid out like all alphas.
  void for_parts(const at::Tensor& all, const std::function<void(Rounding& one, const at::Tensor& part)>& body) {
    std::int64_t at = 0;
    for (Rounding& one : roundings_) {
      body(one, all.narrow(0, at, one.alpha().numel()));
      at += one.alpha().numel();
    }
  }

  void make_biases() {
    for (const Value* bias : work_.biases()) {
      biases_.push_back(bias->tensor().detach().to(at::Device(work_.device())).clone().requires_grad_());
      work_.replace(*bias, biases_.back());
    }
    shifting_ = std::make_unique<Adam>(biases_);
  }

  void learn(UnitRecord& record) {
    captured_ = work_.stays_on_device() && settings_.capture;
    if (captured_) work_.count_by(knobs_.counter());
    Replay replay(captured_ ? work_.device() : "cpu", [this] { step(); });
    for (bool open = true; open && record.iterations < settings_.iterations;) {
      now_ = record.iterations++;
      knobs_.turn(now_);
      replay.run();
      if (record.iterations % kShowEvery == 0) work_.progress(record.iterations, settings_.iterations);
      open = !has_converged();
    }
    if (!replay.refusal().empty()) record.add_note(concat("its steps could not be captured: ", replay.refusal()));
  }

  void step() {
    knobs_.look();
    for (std::int64_t run = 0; run < knobs_.runs(); ++run) add_gradients(run);
    if (!settings_.straight_through && (captured_ || now_ >= settings_.begin())) add_penalty();
    rounding_->step(knobs_.rate());
    if (!scaling_) scaling_ = std::make_unique<Adam>(scales_.tensors());  // the first run puts scales on the device
    scaling_->step(knobs_.scale_rate());
    stretching_->step(knobs_.weight_scale_rate());
    if (shifting_) shifting_->step(knobs_.bias_rate());
  }

  void add_gradients(std::int64_t run) {
    for (const Rounding& one : roundings_) work_.replace(one.quantizer().output(), one.soft());
    const double share = 1.0 / static_cast<double>(knobs_.runs());
    if (joint_)
      joint_->backward(knobs_.rows(run), number(run), knobs_.counter() * knobs_.runs() + run, share);
    else
      loss_->backward(work_.run(inputs(run), number(run)), knobs_.rows(run), share);
  }

  void add_penalty() {
    for_parts(penalty_gradient(alphas_, knobs_.weight(), knobs_.beta()), [](Rounding& one, const at::Tensor& part) {
      at::Tensor& gradient = one.alpha().mutable_grad();
      gradient = gradient.defined() ? gradient.add_(part.view_as(gradient)) : part.view_as(one.alpha());
    });
  }

  // Of the step, for random choices; a captured one is counted on the device. Its runs are far from all steps.
  std::uint64_t number(std::int64_t run) const {
    return (static_cast<std::uint64_t>(run) << 40) + (captured_ ? 0 : static_cast<std::uint64_t>(now_));
  }

  NamedValues inputs(std::int64_t run) const {
    const at::Tensor rows = knobs_.rows(run);
    NamedValues inputs = work_.quantized_inputs(rows);
    if (mixer_.prob() >= 1) return inputs;
    const NamedValues plain = work_.float_inputs(rows);
    RandomKey key{work_.seed(), 0, number(run), nullptr};
    if (captured_) key.counter = reinterpret_cast<const std::uint64_t*>(knobs_.counter().const_data_ptr());
    for (auto& [name, value] : inputs) {
      ++key.node;
      if (mixed_.contains(name)) value = RtValue(mixer_.mixed(value.tensor(), plain.at(name).tensor(), key));
    }
    return inputs;
  }

  // Whether roundings are decided, so that hard ones, which count in the end, cost little more than soft ones, and
  // these have gained nothing worth naming for a while. Neither is so before the regulariser begins; and without one,
  // codes come to rest only in the end.
  bool has_converged() {
    const bool may_end = settings_.early_stop && !settings_.straight_through && now_ >= settings_.begin();
    if (!may_end || (now_ + 1) % kLookEvery != 0) return false;
    round_softly();
    const double soft = loss_now();
    round_hard();
    const double loss = loss_now();
    ++looks_since_gain_;
    if (loss < reference_ * (1 - kLeastGain)) {  // small gains add up
      reference_ = loss;
      looks_since_gain_ = 0;
    }
    return looks_since_gain_ >= kPatience && loss <= soft * (1 + kDecided);
  }

  double loss_now() { return joint_ ? joint_->over_all() : loss_of_unit(); }

  // On the first items, with the same random choices every time.
  double loss_of_unit() {
    const c10::AutoGradMode no_grad(false);
    if (captured_) at::Tensor(knobs_.counter()).zero_();  // it is added to the step, and set again before the next one
    const std::int64_t batch = std::min(work_.batch(), work_.items());  // whole ones: the model may fix it
    const std::int64_t count = std::max(batch, std::min(work_.items(), kLookAt));
    double sum = 0;
    for (std::int64_t first = 0; first + batch <= count; first += batch) {
      const at::Tensor rows = at::arange(first, first + batch, at::kLong).to(at::Device(work_.device()));
      sum += loss_->value(work_.run(work_.quantized_inputs(rows), 0), rows);
    }
    return sum;
  }

  UnitWork& work_;
  const RoundingSettings settings_;
  ScalesAtWork scales_;
  Knobs knobs_;
  const Mixer mixer_;
  std::unique_ptr<UnitLoss> loss_;    // one
  std::unique_ptr<JointLoss> joint_;  // or the other
  std::vector<Rounding> roundings_;
  at::Tensor alphas_;
  Tensors biases_;
  std::unique_ptr<Adam> rounding_, scaling_, stretching_, shifting_;
  std::set<std::string> mixed_;  // inputs that are drawn from both networks, element by element
  bool captured_ = false;
  std::int64_t now_ = 0;
  double reference_ = std::numeric_limits<double>::infinity();  // the loss with hard rounding at the last gain
  int looks_since_gain_ = 0;
};

}  // namespace

void check_rounding_options(const Options& options) {
  check_word(options, "round_mode", {"learned_hard_sigmoid", "straight_through"});
  check_word(options, "joint_round_mode", {"same", "learned_hard_sigmoid", "straight_through"});
  check_word(options, "loss", {"mse", "relative", "fisher"});
  check_range(options, "prob", 0, 1);
  check_range(options, "warm_up", 0, 1);
  check_range(options, "joint_warm_up", 0, 1);
  for (const char* count : {"max_count", "joint_count"}) check_count(options, count, 0, 1e9);
  for (const char* name : {"capture", "early_stop"}) check_switch(options, name);
  QUENCH_CHECK(
      !options.flag("early_stop") || options.word("round_mode") == "learned_hard_sigmoid",
      "early_stop cannot end a unit of 'round_mode: straight_through': its steps become smaller until the last "
      "iteration, which is how its codes come to rest");
  Augment(options.word("joint_augment"), 0);
  for (const char* rate : {"lr", "scale_lr", "weight_scale_lr", "bias_lr", "weight", "prediction", "joint_lr",
                           "joint_scale_lr", "joint_kl"})
    check_range(options, rate, 0, 1e3);
  const auto [from, to] = two_numbers(options, "b_range");
  QUENCH_CHECK(from >= 1 && to >= 1, "both numbers of the option 'b_range' must be at least 1, not ", from, " and ",
               to);
}

std::vector<OptionInfo> rounding_options(double prob, double iterations) {
  return {
      {"prob", prob, "probability that an element is the quantized one"},
      {"max_count", iterations, "iterations per unit"},
      {"lr", 1e-3, "learning rate of the roundings"},
      {"scale_lr", 4e-5, "learning rate of the activations' scales; 0: they stay"},
      {"weight_scale_lr", 0.0,
       "learning rate of the weights' scales, relative to them; 0: they stay; 3e-4 is a good one"},
      {"bias_lr", 0.0, "learning rate of the biases; 0: they stay"},
      {"warm_up", 0.2, "share of the iterations without the regulariser"},
      {"weight", 0.01, "weight of the regulariser (lambda)"},
      {"b_range", "20,2", "the regulariser's exponent, from and to (beta)"},
      {"round_mode", "learned_hard_sigmoid",
       "learned_hard_sigmoid: down or up; straight_through: to any code, without the regulariser (docs/numerics.md "
       "15.2)"},
      {"loss", "mse",
       "mse; relative: to the energy of the unit's output; fisher: weighted by how much the network's output "
       "depends on "
       "it (docs/numerics.md 15.2)"},
      {"prediction", 0.0,
       "weight of the KL divergence of the network's prediction with this unit quantized and all behind it in "
       "float (PD-Quant); 0: none"},
      {"joint_count", 0.0, "iterations with all units together, after the last unit (docs/numerics.md 15.5); 0: none"},
      {"joint_round_mode", "same", "round_mode while all units learn together; same: that of the units"},
      {"joint_lr", 3e-3, "learning rate of the roundings while all units learn together"},
      {"joint_scale_lr", 4e-5, "that of the activations' scales; 0: they stay"},
      {"joint_warm_up", 0.7, "share of the joint iterations without the regulariser"},
      {"joint_kl", 1.0, "weight of the KL divergence of the network's prediction while all units learn together"},
      {"joint_augment", "none",
       "how images vary while all units learn together: none; flip, crop, cut, mix, or several with commas; auto: the "
       "first three if pictures are all that the network reads (docs/numerics.md 15.5)"},
      {"capture", 1.0, "0: on a GPU, steps are run one by one instead of captured once and replayed"},
      {"early_stop", 0.0,
       "1: end a unit when its roundings are decided and its loss has not fallen by 1 % for 1,000 iterations, and "
       "likewise the joint stage; not where round_mode or joint_round_mode is straight_through"}};
}

std::vector<std::string> idle_rounding_options(const Options& options) {
  const bool joins = options.number("joint_count") > 0, straight = options.word("round_mode") == "straight_through";
  const std::string& joint = options.word("joint_round_mode");
  const bool joint_straight = joint == "straight_through" || (joint == "same" && straight);
  std::vector<std::string> idle;
  if (straight) idle.emplace_back("warm_up");
  if (straight && (!joins || joint_straight)) idle.insert(idle.end(), {"weight", "b_range"});
  if (joins && joint_straight) idle.emplace_back("joint_warm_up");
  if (!joins)
    idle.insert(idle.end(),
                {"joint_round_mode", "joint_lr", "joint_scale_lr", "joint_warm_up", "joint_kl", "joint_augment"});
  return idle;
}

void learn_rounding(UnitWork& work, UnitRecord& record, bool learn_scales) {
  Loop(work, RoundingSettings(work.options()), learn_scales && work.options().number("scale_lr") > 0).run(record);
}

bool learns_from_error(const Options& options) {
  return options.word("loss") != "fisher" && options.number("prediction") == 0;
}

std::int64_t joint_iterations(const Options& options, const Graph& network) {
  const auto count = static_cast<std::int64_t>(options.number("joint_count"));
  if (options.number("prediction") > 0) check_predicts(network);
  if (count > 0) Augment(options.word("joint_augment"), 0).check_inputs(network);
  return count;
}

void learn_jointly(UnitWork& network, UnitRecord& record, bool learn_scales) {
  const RoundingSettings settings = RoundingSettings::joint(network.options());
  if (!Augment(network.options().word("joint_augment"), 0).applies_to(network.float_inputs(network.draw(0))))
    record.add_note("its inputs are not varied: 'joint_augment: auto' is for networks that read pictures alone");
  Loop(network, settings, learn_scales && settings.scale_rate > 0).run(record);
}

}  // namespace quench
