#include "quench/verify.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <set>

#include "data/batch_size.h"
#include "data/bind_inputs.h"
#include "data/feed.h"
#include "data/feedback.h"
#include "data/top_classes.h"
#include "deploy/compare_outputs.h"
#include "quench/error.h"
#include "quench/executor.h"
#include "quench/pass.h"
#include "quench/quantizers.h"
#include "quench/rt_value.h"
#include "verify/deployed_model.h"
#include "verify/judge.h"
#include "verify/layer_check.h"
#include "verify/runner.h"
#include "verify/scratch_folder.h"
#include "verify/source_model.h"

namespace quench {
namespace {

constexpr std::int64_t kFileBytes = std::int64_t{64} << 20;  // of the arrays that go to a runner, and come back
constexpr double kFloatBound = 1e-5;  // of codes after float32 sums: their order is the runtime's (runtimes differ)
constexpr std::int64_t kSlice = 32;   // items at a time where the model leaves its batch open: docs/runners.md

// Of one item; `unknown` where a dim is not a number.
std::int64_t elements_of(const Value& value, std::int64_t unknown) {
  if (!value.has_rank()) return unknown;
  std::int64_t count = 1;
  for (std::size_t d = 1; d < value.dims().size(); ++d) {
    if (!value.dims()[d].is_number()) return unknown;
    count *= value.dims()[d].number();
  }
  return count;
}

// The simulation of what runs, in its fastest form.
Graph simulation_of(const DeployedModel& model, bool fuses_add) {
  Graph graph = fuses_add ? without_fused_rounding(model.simulated) : model.simulated;
  run_passes(graph, inference_passes());
  return graph;
}

OutputBounds bounds_of(const VerifyOptions& options, const OutputBounds& runtime) {
  OutputBounds bounds;
  bounds.mean = options.output_mean.value_or(runtime.mean);
  bounds.steps = options.output_bound.value_or(runtime.steps);
  bounds.share = options.output_share.value_or(runtime.share);
  bounds.largest = options.output_largest.value_or(runtime.largest);
  bounds.accuracy = options.accuracy_bound.value_or(runtime.accuracy);
  return bounds;
}

class Verification {
 public:
  Verification(const std::string& path, const VerifyOptions& options, const Dataset& data)
      : options_(options),
        runtime_(RuntimeRegistry::instance().get(options.runtime)),
        runner_(make_runner(options)),
        model_(read_deployed(path, runtime_)),
        simulation_(simulation_of(model_, runtime_.fuses_add)),
        executor_(simulation_),
        with_states_(data.feedback().states.empty() ? nullptr : with_feedback(simulation_, data, false)),
        data_(with_states_ ? *with_states_ : data),
        fixed_(fixed_batch(model_.file, &data_)),
        task_(data.task()) {
    QUENCH_CHECK(runtime_.reads_fake_quantize || quantizers_of(model_.file).empty(), "'", path,
                 "' has quantizers that runtime '", options.runtime,
                 "' does not read: it is a calibrated model, or one for vendors' tools; 'quench deploy' writes a Q/DQ ",
                 "file (N_qdq.onnx)", or_did_you_mean(path));
    QUENCH_CHECK(!(model_.own_format && options.layers), "runtime '", options.runtime,
                 "' does not show the codes of its layers: leave VerifyOptions::layers off");
    find_unsliced();
    result_.file = path;
    result_.runtime = options.runner.empty() ? options.runtime : options.runner;
    result_.rule = options.rule.empty() ? runtime_.rule : options.rule;
    result_.layers = options.layers;
    result_.labelled = task_ == Task::kClassify;
    result_.bound = options.bound.value_or(runtime_.bound);
    result_.float_bound = options.bound.value_or(std::max(runtime_.bound, kFloatBound));
    result_.output_bounds = bounds_of(options, runtime_.outputs);
    for (const Value* output : model_.file.outputs())
      outputs_.emplace_back(model_.simulated.value(output->name()), task_);
    const std::string source = options.model.empty() ? find_source_model(model_) : options.model;
    if (!source.empty() && source != "none") source_ = std::make_unique<SourceCheck>(source, model_, task_);
    const Requantize rule = requantize_from_name(result_.rule);  // throws for an unknown name, needed or not
    if (!options.layers) return;
    layers_ = std::make_unique<LayerCheck>(model_, rule, folder_.file("tapped.onnx"));
    result_.tensors = layers_->tensors();
  }

  const Dataset& data() const { return data_; }  // with recurrent states, as the simulation gives them

  // Intermediate tensors of unknown size count as eight times an item.
  std::int64_t items_a_call() const {
    if (one_by_one_) return 1;
    const std::int64_t fixed = std::max<std::int64_t>(fixed_, 1);
    std::int64_t item = 0;
    const InputValues first = data_.get(0).inputs;
    for (const auto& [name, value] : first.values()) item += value.tensor().numel();
    std::int64_t bytes = 4 * std::max<std::int64_t>(item, 1);
    for (const TensorResult& tensor : result_.tensors) bytes += elements_of(model_.file.value(tensor.name), 8 * item);
    const std::int64_t items = options_.batch > 0 ? options_.batch : std::max<std::int64_t>(kFileBytes / bytes, 1);
    return (items + fixed - 1) / fixed * fixed;
  }

  // In calls whose slices are all of one size: what they give is joined along the first axis, whatever that counts, and
  // must come apart again.
  void add(const Batch& batch) {
    const std::int64_t count = batch.size(), slice = slice_size();
    const std::int64_t whole = count / slice * slice;
    if (whole > 0) add_items(batch, 0, whole);
    if (whole < count) add_items(batch, whole, count);
  }

  VerifyResult result() {
    QUENCH_CHECK(result_.items > 0, "the data is empty: there is nothing to compare");
    for (const OutputComparison& output : outputs_) result_.outputs.push_back(output.result(result_.output_bounds));
    result_.predictions = result_.outputs[0].predictions;
    result_.equal = result_.predictions - result_.outputs[0].changed;
    if (source_) source_->into(result_);
    judge(result_, options_);
    return result_;
  }

 private:
  std::int64_t slice_size() const { return fixed_ > 0 ? fixed_ : kSlice; }

  // Inputs that are the same for all items. Where one has no axis for items they go one by one, and nothing is cut.
  void find_unsliced() {
    for (const auto& [name, value] : data_.shared()) unsliced_.insert(name);
    for (const auto& [name, item] : name_values(model_.file, data_.get(0).inputs, data_))
      one_by_one_ = one_by_one_ || is_whole(model_.file.value(name), item.tensor().dim());
    if (one_by_one_)
      for (const Value* input : model_.file.inputs()) unsliced_.insert(input->name());
  }

  NamedValues slice_of(const NamedValues& inputs, std::int64_t begin, std::int64_t end) const {
    NamedValues part = inputs;
    for (auto& [name, value] : part)
      if (!unsliced_.contains(name)) value = RtValue(value.tensor().slice(0, begin, end), value.dtype());
    return part;
  }

  void add_items(const Batch& batch, std::int64_t first, std::int64_t end) {
    const std::int64_t slice = slice_size();
    Call call;
    call.items = end - first;
    call.fed = fixed_ > 0 ? (call.items + fixed_ - 1) / fixed_ * fixed_ : call.items;
    // Padded only after the last item of the batch: all before are in whole slices.
    const NamedValues inputs = slice_of(bind_inputs(model_.file, batch), first, first + call.fed);
    for (std::int64_t at = 0; at < call.fed; at += slice) call.slices.push_back(slice_of(inputs, at, at + slice));
    const NamedValues deployed = run(model_.path, inputs, call);
    const NamedValues simulated = simulate(call);
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      const std::string& name = model_.file.outputs()[i]->name();
      outputs_[i].add(call.trimmed(deployed.at(name).tensor()), call.trimmed(simulated.at(name).tensor()));
    }
    const std::string& name = model_.file.outputs()[0]->name();
    const std::vector<std::int64_t> labels(batch.labels.begin() + first, batch.labels.begin() + end);
    add_labels(call.trimmed(deployed.at(name).tensor()), call.trimmed(simulated.at(name).tensor()), labels);
    if (source_) source_->add(call, deployed);
    if (layers_) add_layers(inputs, deployed, call);
    result_.items += call.items;
  }

  NamedValues run(const std::string& model, const NamedValues& inputs, const Call& call) {
    NamedValues outputs = runner_.run(model, inputs, folder_, unsliced_);
    for (const Value* output : model_.file.outputs()) check_output(outputs, output->name(), call);
    return outputs;
  }

  void check_output(const NamedValues& outputs, const std::string& name, const Call& call) const {
    const auto at = outputs.find(name);
    QUENCH_CHECK(at != outputs.end(), "the runner '", runner_.description(), "' gave no '", name, "', but ",
                 outputs.size(), " other tensors");
    const DType wanted = model_.file.value(name).dtype(), given = at->second.dtype();
    const bool alike =
        wanted == given || (is_floating(wanted) && is_floating(given)) || (is_integer(wanted) && is_integer(given));
    QUENCH_CHECK(alike, "the runner '", runner_.description(), "' gave '", name, "' as ", name_of(given),
                 ", but the model has it as ", name_of(wanted));
    const at::Tensor& found = at->second.tensor();
    const auto slices = static_cast<std::int64_t>(call.slices.size());
    QUENCH_CHECK(found.dim() > 0 && found.size(0) % slices == 0, "the runner '", runner_.description(), "' gave '",
                 name, "' of the shape ", found.sizes(), " for ", call.fed, " items");
  }

  NamedValues simulate(const Call& call) {
    std::map<std::string, std::vector<at::Tensor>> parts;
    const std::vector<std::string> names = output_names(model_.file);
    for (const NamedValues& slice : call.slices)
      for (const auto& [name, value] : executor_.run(slice, names)) parts[name].push_back(value.tensor());
    NamedValues whole;
    for (const auto& [name, all] : parts) whole[name] = RtValue(at::cat(all));
    return whole;
  }

  // If the output has one prediction per item.
  void add_labels(const at::Tensor& deployed, const at::Tensor& simulated, const std::vector<std::int64_t>& labels) {
    const at::Tensor a = top_class(predictions_of(deployed, task_)), b = top_class(predictions_of(simulated, task_));
    result_.labelled = result_.labelled && a.numel() == static_cast<std::int64_t>(labels.size());
    if (!result_.labelled) return;
    const at::Tensor right = at::tensor(at::ArrayRef<std::int64_t>(labels));
    const at::Tensor by_deployed = a.eq(right), by_simulated = b.eq(right);
    const auto count = [](const at::Tensor& flags) { return flags.sum().item<std::int64_t>(); };
    result_.correct_deployed += count(by_deployed);
    result_.correct_simulated += count(by_simulated);
    result_.only_deployed += count(by_deployed.logical_and(by_simulated.logical_not()));
    result_.only_simulated += count(by_simulated.logical_and(by_deployed.logical_not()));
  }

  void add_layers(const NamedValues& inputs, const NamedValues& deployed, const Call& call) {
    const NamedValues found = run(layers_->file(), inputs, call);
    for (const TensorResult& tensor : result_.tensors) check_output(found, tensor.name, call);
    const NamedValues integers = layers_->add(call, found, result_.tensors);
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      const std::string& name = model_.file.outputs()[i]->name();
      outputs_[i].add_whole(call.trimmed(deployed.at(name).tensor()), call.trimmed(integers.at(name).tensor()));
    }
  }

  const VerifyOptions& options_;
  RuntimeEntry runtime_;
  Runner runner_;
  DeployedModel model_;
  Graph simulation_;
  Executor executor_;
  std::unique_ptr<Dataset> with_states_;
  const Dataset& data_;
  std::int64_t fixed_;  // items that the model takes at once; -1: any number
  std::set<std::string> unsliced_;
  bool one_by_one_ = false;
  Task task_;
  std::vector<OutputComparison> outputs_;
  ScratchFolder folder_;
  std::unique_ptr<LayerCheck> layers_;
  std::unique_ptr<SourceCheck> source_;
  VerifyResult result_;
};

}  // namespace

VerifyResult verify(const std::string& file, const Dataset& data, const VerifyOptions& options) {
  QUENCH_CHECK(data.size() > 0, "there is no data to verify on");
  Verification verification(file, options, data);
  LoadOptions load;
  load.batch_size = verification.items_a_call();
  Loader loader(verification.data(), load);
  std::int64_t done = 0;
  while (const std::optional<Batch> batch = loader.next()) {
    with_context([&] { return concat("while verifying ", file); }, [&] { verification.add(*batch); });
    done += static_cast<std::int64_t>(batch->names.size());
    if (options.progress) options.progress(done, data.size());
  }
  return verification.result();
}

}  // namespace quench
