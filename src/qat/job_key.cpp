#include "qat/job_key.h"

#include <fmt/format.h>

#include "core/hash.h"
#include "data/content.h"
#include "distributed/device_kind.h"
#include "qat/train_fields.h"
#include "quench/error.h"
#include "quench/quantizers.h"
#include "quench/train_loop.h"

namespace quench {
namespace {

// What only says when something is written or shown, or when to stop, does not decide what a step does.
bool decides_result(const std::string& key) {
  return key != "log_every" && key != "checkpoint_every" && key != "val_float" && key != "max_steps";
}

// Collects the options as lines: "optimizer.lr=0.01".
class Listed {
 public:
  template <typename T>
  void operator()(const char* key, const T& field) {
    if (decides_result(key)) text_ += concat(group_, key, "=", field, "\n");
  }
  void operator()(const char* key, double field) { text_ += fmt::format("{}{}={}\n", group_, key, field); }
  void operator()(const char* key, const std::optional<double>& field) {
    if (field) (*this)(key, *field);
  }
  void operator()(const char* key, const std::vector<double>& field) {
    for (const double one : field) (*this)(key, one);
  }
  void operator()(const char* key, const std::vector<std::pair<int, int>>& field) {
    for (const auto& [from, interval] : field) (*this)(key, concat(from, ":", interval));
  }
  void operator()(const char* key, const Options& field) {
    enter(key);
    for (const auto& [name, value] : field.values())
      std::visit([&](const auto& one) { (*this)(name.c_str(), one); }, value);
    leave();
  }
  void enter(const char* key) { group_ = concat(key, "."); }
  void leave() { group_.clear(); }
  const std::string& text() const { return text_; }

 private:
  std::string group_, text_;
};

// Structure and checksums of weights, of the network alone: scales that calibration found may differ in their last bits
// with the number of threads, and the plan says where they are.
std::string network_text(const Graph& graph) { return to_text(without_quantizers(graph), {.data = false}); }

// Without the reasons of entries: calibration adds to them.
std::string plan_text(QuantPlan plan) {
  for (PlanEntry& entry : plan.entries) entry.rule.clear();
  return to_yaml(plan);
}

// A few items tell sets of the same size apart.
std::string items_text(const Dataset* data) {
  if (!data || data->size() == 0) return "";
  std::string text = concat(data->size());
  for (const std::int64_t index : {std::int64_t{0}, data->size() / 2, data->size() - 1}) {
    const Sample sample = data->get(index);
    text += concat(" ", content_text(sample.inputs.values()), " ", sample.label);
  }
  return text;
}

}  // namespace

std::uint64_t job_key(const QuantizedModel& model, const TrainData& data, const TrainOptions& options,
                      const Graph* teacher) {
  return stable_hash(concat(network_text(model.graph), plan_text(model.plan), text_of_train_options(options),
                            items_text(&data.train), " ", items_text(data.validation),
                            teacher ? network_text(*teacher) : ""));
}

std::string text_of_model(const QuantizedModel& model) {
  return concat("a network with checksum ", stable_hash(network_text(model.graph)), "\na plan with checksum ",
                stable_hash(plan_text(model.plan)), "\n");
}

std::string text_of_train_options(const TrainOptions& options) {
  Listed listed;
  TrainOptions full = options;
  full.loop_options = checked_loop_options(options.loop, options.loop_options);
  visit_train_options(full, listed);
  listed("seed", options.seed);
  listed("device", device_kind(options.device));
  return listed.text();
}

}  // namespace quench
