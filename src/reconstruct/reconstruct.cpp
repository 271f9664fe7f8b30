#include "quench/reconstruct.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <utility>

#include "core/counted.h"
#include "core/hash.h"
#include "core/joined.h"
#include "data/batch_size.h"
#include "quench/error.h"
#include "quench/executor.h"
#include "quench/ptq_method.h"
#include "reconstruct/checkpoint.h"
#include "reconstruct/joined_units.h"
#include "reconstruct/method_options.h"
#include "reconstruct/on_device.h"
#include "reconstruct/sensitivity.h"
#include "reconstruct/unit_at_work.h"
#include "reconstruct/work_of_units.h"

namespace quench {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

RowPoolOptions pool_options(const Options& options, const std::string& device, const std::string& folder) {
  RowPoolOptions pool;
  pool.device = device;
  const std::string& where = options.word("cache");
  pool.on_device = where.empty() ? options.flag("keep_gpu") : where == "device";
  pool.half = options.flag("half");
  pool.folder = folder;
  pool.max_memory = static_cast<std::int64_t>(options.number("max_memory") * (std::int64_t{1} << 30));
  if (where == "disk") pool.max_memory = 1;  // nothing fits
  return pool;
}

UnitOptions unit_options(const Options& options) { return {options.word("pattern"), words_of(options, "units")}; }

// Options that decide where things lie, not what comes out.
bool decides_result(const std::string& option) {
  return option != "max_memory" && option != "cache" && option != "keep_gpu";
}

std::string text_of(const Options& options) {
  std::string text;
  for (const auto& [name, value] : options.values()) {
    if (!decides_result(name)) continue;
    const auto* number = std::get_if<double>(&value);
    char digits[32] = "";
    if (number) std::snprintf(digits, sizeof digits, "%.17g", *number);
    text += concat(" ", name, "=", number ? digits : std::get<std::string>(value));
  }
  return text;
}

UnitRecord record_of(const Unit& unit) {
  UnitRecord record;
  record.name = unit.name;
  record.layers = unit.layers;
  return record;
}

void check_excluded(const std::vector<Unit>& units, const Options& options) {
  std::vector<std::string> layers;
  for (const Unit& unit : units) layers.insert(layers.end(), unit.layers.begin(), unit.layers.end());
  for (const std::string& prefix : words_of(options, "exclude_node_prefix"))
    if (std::none_of(layers.begin(), layers.end(), [&](const std::string& one) { return one.starts_with(prefix); }))
      fail_unknown_name("layer prefix in 'exclude_node_prefix'", prefix, layers);
}

class Reconstruction {
 public:
  Reconstruction(const QuantizedModel& model, const Dataset& data, const ReconstructOptions& options)
      : options_(options),
        method_(PtqMethodRegistry::instance().get(options.method)),
        chosen_(checked_method_options(options.method, options.options)),
        before_(model.graph),
        model_(model),
        plain_(options.device == "cpu" ? Graph(model.graph) : model.graph.clone()),  // a device takes tensors over
        units_(find_units(model.graph, unit_options(chosen_))),
        network_(joined_units(units_, model.graph)),
        joint_iterations_(method_.join && method_.joint_iterations ? method_.joint_iterations(chosen_, model.graph)
                                                                   : 0),
        wants_to_join_(method_.join && (!method_.joint_iterations || joint_iterations_ > 0)),
        pool_(pool_options(chosen_, options.device, options.checkpoint)),
        work_(work_of_units(model.graph, units_)) {
    check_excluded(units_, chosen_);
    model_.graph = model.graph.clone();  // scales learn in place
    set_state(plain_, std::nullopt, {});
    if (options.device != "cpu")
      for (Graph* graph : {&plain_, &model_.graph}) move_weights(*graph, options.device);
    record_.method = options.method;
    record_.options = chosen_;
    const auto start = Clock::now();
    const Streams::Options how{options.device, batch_for(model.graph, data), options.workers, options.skip_broken};
    streams_ = std::make_unique<Streams>(model.graph, data, units_, pool_, how);
    record_.cache_seconds += seconds_since(start);
    record_.items = streams_->items();
    note_what_is_idle(data);
    if (joins()) streams_->hold(network_);
    if (options.device != "cpu" && !stays_on_device() && chosen_.has("capture") && chosen_.flag("capture"))
      record_.notes.push_back("steps are launched one by one: capturing them needs all caches on the device");
    checkpoint_ = std::make_unique<Checkpoint>(options.checkpoint, job_key(model));
    float_ = std::make_unique<Executor>(plain_, ExecOptions{.device = options.device});
    quantized_ = std::make_unique<Executor>(model_.graph, ExecOptions{.device = options.device});
    training_ = std::make_unique<Executor>(model_.graph,
                                           ExecOptions{.reconstructing = true, .grad = true, .device = options.device});
  }

  ReconstructionRecord run(QuantizedModel& result) {
    const auto start = Clock::now();
    const double before = record_.cache_seconds;
    for (std::size_t i = 0; i < units_.size(); ++i)
      with_context([&] { return concat("in the unit '", units_[i].name, "'"); }, [&] { work_on(i); });
    if (joins()) with_context([&] { return "with all units together"; }, [&] { join(); });
    if (wants_to_join_ && !network_.learns())
      record_.notes.push_back(
          "the units do not learn together: the network has no single float output with a row per item");
    bring_home(model_.graph);
    model_.stage = ModelStage::kReconstructed;
    verify(model_, ModelStage::kReconstructed);
    result = std::move(model_);
    record_.seconds = before + seconds_since(start);
    record_.memory_bytes = pool_.most_in_memory();
    record_.spilled_bytes = pool_.most_in_files();
    return std::move(record_);
  }

 private:
  std::int64_t batch_for(const Graph& graph, const Dataset& data) const {
    const std::int64_t fixed = fixed_batch(graph, &data);
    return fixed > 0 ? fixed : static_cast<std::int64_t>(chosen_.number("batch"));
  }

  // What was asked for and has no effect.
  void note_what_is_idle(const Dataset& data) {
    std::vector<std::string> idle = idle_method_options(options_.method, chosen_);
    if (!idle.empty())
      record_.notes.push_back(concat(joined_in_quotes(idle), idle.size() == 1 ? " has" : " have", " no effect on '",
                                     options_.method, "' with these options"));
    const std::int64_t fixed = fixed_batch(model_.graph, &data), left = fixed > 0 ? data.size() % fixed : 0;
    const std::int64_t wanted = std::min(static_cast<std::int64_t>(chosen_.number("batch")), data.size());
    const std::int64_t taken = fixed > 0 ? std::max<std::int64_t>(wanted / fixed, 1) * fixed : wanted;
    if (taken != wanted)
      record_.notes.push_back(
          concat("a step takes ", counted(taken, "item"), ": the model fixes its batch at ", fixed));
    if (left > 0 && data.size() > fixed)
      record_.notes.push_back(concat("the last ", left, " of ", data.size(),
                                     " items are not learned from: the model fixes its batch at ", fixed));
  }

  std::uint64_t job_key(const QuantizedModel& model) const {
    return stable_hash(concat(options_.method, text_of(chosen_), options_.keep_better ? "" : " as it is", " seed ",
                              options_.seed, " on ", options_.device, stays_on_device() ? " captured" : "", " data ",
                              streams_->content_hash(), "\n", to_yaml(model.plan),
                              to_text(model.graph, {.data = false}), unit_names()));
  }

  // Finished units are kept by number: where they end is a part of the job.
  std::string unit_names() const {
    std::string names;
    for (const Unit& unit : units_) names += concat(unit.name, "\n");
    return names;
  }

  void work_on(std::size_t index) {
    const Unit& unit = units_[index];
    now_ = index;
    auto start = Clock::now();
    streams_->run_plain(*float_, unit);
    record_.cache_seconds += seconds_since(start);
    if (unit.learns()) {
      UnitRecord record = record_of(unit);
      if (const auto kept = checkpoint_->load(index, record))
        restore(*kept);
      else
        learn(unit, index, record);
      record_.units.push_back(record);
    }
    if (!unit.learns() && !unit.layers.empty())
      record_.notes.push_back(concat("the unit '", unit.name, "' learns nothing: ",
                                     unit.comparable ? concat("it has ", unit.outputs.size(), " outputs, not one")
                                                     : "its outputs cannot be compared item by item"));
    start = Clock::now();
    double error = run_quantized(unit);
    if (unit.learns() && keep_better(error)) error = run_quantized(unit);
    record_.cache_seconds += seconds_since(start);
    if (unit.learns()) finish(index, error);
    streams_->drop_unused(index);
  }

  double run_quantized(const Unit& unit) {
    for (Executor* one : {quantized_.get(), training_.get()}) one->refresh_constants();
    return streams_->run_quantized(*quantized_, unit, true);
  }

  // Too few iterations, or too large steps, can leave a unit worse than calibration did: then it stays as it was.
  bool keep_better(double error) {
    UnitRecord& record = record_.units.back();
    if (!keeps_better() || record.resumed || error <= record.error_before) return false;
    restore(calibrated_constants_);
    learned_constants_ = std::move(calibrated_constants_);
    record.moved = 0;
    record.add_note(UnitRecord::kNotKept);
    return true;
  }

  bool keeps_better() const { return options_.keep_better && method_.keeps_better && method_.keeps_better(chosen_); }

  // The network as one unit, whose number comes after the last one's.
  void join() {
    UnitRecord record = record_of(network_);
    const std::size_t index = units_.size();
    if (const auto kept = checkpoint_->load(index, record))
      restore(*kept);
    else
      learn(network_, index, record);
    record_.units.push_back(record);
    quantized_->refresh_constants();
    const double error = streams_->run_quantized(*quantized_, network_, false);
    UnitRecord& last = record_.units.back();
    if (!last.resumed && error > last.error_before)
      last.add_note("the error of the network's output grew (docs/numerics.md 15.5)");
    finish(index, error);
  }

  bool joins() const { return wants_to_join_ && network_.learns(); }

  void learn(const Unit& unit, std::size_t index, UnitRecord& record) {
    const bool is_network = &unit == &network_;
    const auto start = Clock::now();
    record.error_before = streams_->run_quantized(*quantized_, unit, false);
    const std::uint64_t seed = options_.seed * 0x9E3779B97F4A7C15 ^ stable_hash(unit.name);
    const WorkSettings settings{chosen_,
                                options_.device,
                                seed,
                                streams_->chunk(),
                                stays_on_device(),
                                [&, seed](RestOfNetwork& rest) { return sensitivity_of(rest, *streams_, pool_, seed); },
                                [&](RestOfNetwork& rest) { return prediction_of(rest, *streams_, pool_); },
                                [&] { return std::make_unique<RestOfNetwork>(*streams_, index, recorded_float()); },
                                *float_,
                                before_,
                                is_network ? ends() : std::vector<std::string>{},
                                [&](std::int64_t done, std::int64_t total) { report(unit, done, total); }};
    UnitAtWork work(model_.graph, unit, *streams_, *training_, settings);
    if (keeps_better() && !is_network) calibrated_constants_ = work.calibrated();
    (is_network ? method_.join : method_.learn)(work, record);
    steps_before_ += std::exchange(steps_, 0);
    training_->options().counter = nullptr;
    if (!work.note().empty()) record.add_note(work.note());
    learned_constants_ = work.learned();
    record.moved = work.moved();
    record.seconds = seconds_since(start);
  }

  // In iterations of a unit of average work: those that are to come are taken to be as many as this one's, and an
  // iteration of all units together as one of each.
  void report(const Unit& unit, std::int64_t done, std::int64_t total) {
    const bool is_network = &unit == &network_;
    const double all = static_cast<double>(learning_units() - joins());
    const double each = is_network ? all : work_.at(unit.name);
    double to_come = each * static_cast<double>(total);
    steps_ = to_come;
    if (!is_network) to_come = work_to_come() * static_cast<double>(total);
    if (!is_network && joins()) to_come += all * static_cast<double>(joint_iterations_);
    if (options_.progress)
      options_.progress(unit.name, std::llround(steps_before_ + each * static_cast<double>(done)),
                        std::llround(steps_before_ + to_come));
  }

  // Of the present unit and those behind it.
  double work_to_come() const {
    double sum = 0;
    for (std::size_t i = now_; i < units_.size(); ++i)
      if (units_[i].learns()) sum += work_.at(units_[i].name);
    return sum;
  }

  // What the units that learn give, which the network's own output is among.
  std::vector<std::string> ends() const {
    std::vector<std::string> names;
    for (const Unit& unit : units_)
      if (unit.learns()) names.push_back(unit.output());
    if (names.empty() || names.back() != network_.output()) names.push_back(network_.output());
    return names;
  }

  Executor& recorded_float() {
    if (!recorded_)
      recorded_ = std::make_unique<Executor>(plain_, ExecOptions{.grad = true, .device = options_.device});
    return *recorded_;
  }

  bool stays_on_device() const {
    const RowPoolOptions pool = pool_options(chosen_, options_.device, "");
    return options_.device != "cpu" && pool.on_device && pool.max_memory == 0;
  }

  void restore(const TensorMap& kept) {
    for (const auto& [name, tensor] : kept) {
      Value& constant = model_.graph.value(name);
      QUENCH_CHECK(constant.is_constant() && constant.tensor().sizes() == tensor.sizes(), "'", name,
                   "' of the kept unit does not fit the model");
      model_.graph.set_tensor(constant, tensor.to(constant.tensor().device()));
    }
  }

  void finish(std::size_t index, double error) {
    UnitRecord& record = record_.units.back();
    if (!record.resumed) {
      record.error_after = error;
      checkpoint_->save(index, record, learned_constants_);
    }
    if (options_.unit_done)
      options_.unit_done(record, record_.units.size(), static_cast<std::size_t>(learning_units()));
  }

  std::int64_t learning_units() const {
    return std::count_if(units_.begin(), units_.end(), [](const Unit& unit) { return unit.learns(); }) + joins();
  }

  const ReconstructOptions& options_;
  const PtqMethod& method_;
  const Options chosen_;
  const Graph& before_;
  QuantizedModel model_;  // becomes the result
  Graph plain_;           // the float network
  const std::vector<Unit> units_;
  const Unit network_;  // all of them
  const std::int64_t joint_iterations_;
  const bool wants_to_join_;  // it learns, too, if it can
  RowPool pool_;
  std::unique_ptr<Streams> streams_;
  std::unique_ptr<Checkpoint> checkpoint_;
  std::unique_ptr<Executor> float_, quantized_, training_;
  std::unique_ptr<Executor> recorded_;                  // the float network for autograd; null until it is asked for
  TensorMap calibrated_constants_, learned_constants_;  // of the unit just learned, before and after
  const std::map<std::string, double> work_;            // of each unit that learns, 1 on average
  std::size_t now_ = 0;                                 // the unit at work
  double steps_before_ = 0, steps_ = 0;                 // of finished units; of the present one
  ReconstructionRecord record_;
};

}  // namespace

void UnitRecord::add_note(const std::string& text) { note += (note.empty() ? "" : "; ") + text; }

std::vector<Unit> units_of_method(const Graph& graph, const std::string& name, const Options& given) {
  const PtqMethod& method = PtqMethodRegistry::instance().get(name);
  const Options options = checked_method_options(name, given);
  std::vector<Unit> units = find_units(graph, unit_options(options));
  check_excluded(units, options);
  if (method.joint_iterations) method.joint_iterations(options, graph);
  return units;
}

ReconstructionRecord reconstruct(QuantizedModel& model, const Dataset& data, const ReconstructOptions& options) {
  verify(model, ModelStage::kCalibrated);
  QUENCH_CHECK(model.stage == ModelStage::kCalibrated, "the model is ", name_of(model.stage),
               " already: its weights lie on their grids, and there is nothing to round");
  return with_context([&] { return concat("during reconstruction by '", options.method, "'"); },
                      [&] { return Reconstruction(model, data, options).run(model); });
}

}  // namespace quench
