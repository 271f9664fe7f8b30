#include "quench/verify.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "data/batch_size.h"
#include "deploy/lowest_opset.h"
#include "deploy/quantized.h"
#include "quench/error.h"
#include "quench/executor.h"
#include "quench/export.h"
#include "quench/pass.h"
#include "quench/rt_value.h"
#include "verify/compare.h"
#include "verify/deployed_model.h"
#include "verify/integer_network.h"
#include "verify/judge.h"
#include "verify/runner.h"
#include "verify/scratch_folder.h"

namespace quench {
namespace {

constexpr std::int64_t kFileBytes = std::int64_t{64} << 20;  // of the arrays that go to a runner, and come back
constexpr double kFloatBound = 1e-5;  // of codes behind float32 sums: their order is the runtime's (runtimes differ)
constexpr std::int64_t kSlice = 32;   // items that the simulation runs at a time

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

class Verification {
 public:
  Verification(const std::string& path, const VerifyOptions& options, Task task)
      : options_(options),
        runtime_(RuntimeRegistry::instance().get(options.runtime)),
        runner_(make_runner(options)),
        model_(read_deployed(path, runtime_.rounds_biases)),
        input_(only_input(model_.file, "verification")),
        simulation_(simulation_of(model_, runtime_.fuses_add)),
        executor_(simulation_),
        task_(task),
        sums_(model_.file.outputs().size()) {
    result_.file = path;
    result_.runtime = options.runner.empty() ? options.runtime : options.runner;
    result_.rule = options.rule.empty() ? runtime_.rule : options.rule;
    result_.layers = options.layers;
    result_.labelled = task == Task::kClassify;
    result_.bound = options.bound.value_or(runtime_.bound);
    result_.float_bound = options.bound.value_or(std::max(runtime_.bound, kFloatBound));
    result_.output_bound = options.output_bound;
    requantize_from_name(result_.rule);  // throws for a name that is none, whether it is needed or not
    if (options.layers) prepare_layers();
  }

  // `item`: elements of the data's first one. Tensors between whose size is not known count as eight times that.
  std::int64_t items_a_call(std::int64_t item) const {
    const std::int64_t fixed = std::max<std::int64_t>(fixed_batch(input_), 1);
    std::int64_t bytes = 4 * std::max<std::int64_t>(item, 1);
    for (const TensorResult& tensor : result_.tensors) bytes += elements_of(model_.file.value(tensor.name), 8 * item);
    const std::int64_t items = options_.batch > 0 ? options_.batch : std::max<std::int64_t>(kFileBytes / bytes, 1);
    return (items + fixed - 1) / fixed * fixed;
  }

  void add(const Batch& batch) {
    const std::int64_t count = batch.inputs.tensor().size(0);
    const std::int64_t fixed = std::max<std::int64_t>(fixed_batch(input_), 1);
    const at::Tensor x = fill_up(input_, batch.inputs.tensor(), (count + fixed - 1) / fixed * fixed);
    const NamedValues inputs = {{input_.name(), RtValue(x, batch.inputs.dtype())}};
    const NamedValues deployed = run(model_.path, inputs);
    const NamedValues simulated = simulate(inputs);
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      const std::string& name = model_.file.outputs()[i]->name();
      sums_[i].add(name, tensor(deployed, name, count), tensor(simulated, name, count));
    }
    const std::string& first = model_.file.outputs()[0]->name();
    add_predictions(tensor(deployed, first, count), tensor(simulated, first, count), batch);
    if (options_.layers) add_layers(inputs, deployed, count);
    result_.items += count;
  }

  VerifyResult result() {
    QUENCH_CHECK(result_.items > 0, "the data is empty: there is nothing to compare");
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      const std::string& name = model_.file.outputs()[i]->name();
      const Node* quantizer = model_.simulated.value(name).producer();
      const bool quantized = is_quantizer(quantizer) && fake_quant_spec(*quantizer).scheme.per_tensor();
      result_.outputs.push_back(sums_[i].result(name, quantized ? qtype_of(*quantizer).params.scale[0] : 0.0));
    }
    judge(result_);
    return result_;
  }

 private:
  void prepare_layers() {
    network_ = std::make_unique<IntegerNetwork>(model_.simulated, requantize_from_name(result_.rule));
    tapped_ = folder_.file("tapped.onnx");
    const Graph graph = tapped(model_);
    ExportOptions options;
    options.opset = lowest_opset(graph, model_.opset, 0);
    export_onnx(graph, tapped_, options);
    for (const Tap& tap : model_.taps) {
      const Node* layer = network_->layer(tap.quantizer);
      result_.tensors.push_back({tap.codes,
                                 layer ? layer->where() : concat("input '", input_.name(), "'"),
                                 network_->is_exact(tap.quantizer),
                                 {},
                                 {}});
    }
    QUENCH_CHECK(!model_.taps.empty(), "no activation of '", model_.path, "' is quantized: leave --layers out");
    QUENCH_CHECK(model_.untapped.empty(), "the codes of '", model_.untapped[0],
                 "' cannot be seen from outside, so that what follows cannot be recomputed: leave --layers out");
  }

  NamedValues run(const std::string& model, const NamedValues& inputs) {
    NamedValues outputs = runner_.run(model, inputs, folder_);
    const std::int64_t items = inputs.begin()->second.tensor().size(0);
    for (const Value* output : model_.file.outputs()) check_output(outputs, output->name(), items);
    return outputs;
  }

  void check_output(const NamedValues& outputs, const std::string& name, std::int64_t items) const {
    const auto at = outputs.find(name);
    QUENCH_CHECK(at != outputs.end(), "the runner '", runner_.description(), "' gave no '", name, "', but ",
                 outputs.size(), " other tensors");
    const at::Tensor& found = at->second.tensor();
    QUENCH_CHECK(found.dim() > 0 && found.size(0) == items, "the runner '", runner_.description(), "' gave '", name,
                 "' of the shape ", found.sizes(), " for ", items, " items");
  }

  NamedValues simulate(const NamedValues& inputs) {
    const std::int64_t fixed = fixed_batch(input_), slice = fixed > 0 ? fixed : kSlice;
    const RtValue& x = inputs.begin()->second;
    std::map<std::string, std::vector<at::Tensor>> parts;
    std::vector<std::string> names;
    for (const Value* output : model_.file.outputs()) names.push_back(output->name());
    for (std::int64_t at = 0; at < x.tensor().size(0); at += slice) {
      const at::Tensor part = x.tensor().slice(0, at, at + slice);
      for (const auto& [name, value] : executor_.run({{input_.name(), RtValue(part, x.dtype())}}, names))
        parts[name].push_back(value.tensor());
    }
    NamedValues whole;
    for (const auto& [name, all] : parts) whole[name] = RtValue(at::cat(all));
    return whole;
  }

  static at::Tensor tensor(const NamedValues& values, const std::string& name, std::int64_t count) {
    return values.at(name).tensor().slice(0, 0, count);
  }

  void add_predictions(const at::Tensor& deployed, const at::Tensor& simulated, const Batch& batch) {
    if (deployed.dim() < 2) return;
    const at::Tensor a = top1(deployed, task_), b = top1(simulated, task_);
    result_.predictions += a.numel();
    result_.equal += a.eq(b).sum().item<std::int64_t>();
    if (!result_.labelled) return;
    const at::Tensor labels = at::tensor(at::ArrayRef<std::int64_t>(batch.labels));
    result_.correct_deployed += a.eq(labels).sum().item<std::int64_t>();
    result_.correct_simulated += b.eq(labels).sum().item<std::int64_t>();
  }

  void add_layers(const NamedValues& inputs, const NamedValues& deployed, std::int64_t count) {
    const NamedValues found = run(tapped_, inputs);
    const std::int64_t items = inputs.begin()->second.tensor().size(0);
    IntegerNetwork::Codes codes;
    for (const Tap& tap : model_.taps) {
      check_output(found, tap.codes, items);
      codes[tap.quantizer] =
          with_context([&] { return concat("in the codes '", tap.codes, "' of the runner"); },
                       [&] { return store_codes(found.at(tap.codes).tensor(), network_->type(tap.quantizer).scheme); });
    }
    const IntegerNetwork::Runs runs = network_->run_beside(inputs, codes);
    for (std::size_t i = 0; i < model_.taps.size(); ++i) {
      const std::string& name = model_.taps[i].quantizer;
      const at::Tensor given = codes.at(name).slice(0, 0, count);
      TensorResult& tensor = result_.tensors[i];
      tensor.local.add(code_differences(tensor.name, given, runs.local.at(name).slice(0, 0, count)));
      tensor.whole.add(code_differences(tensor.name, given, runs.whole.at(name).slice(0, 0, count)));
    }
    const NamedValues integers = network_->outputs(inputs, runs.whole);
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      const std::string& name = model_.file.outputs()[i]->name();
      sums_[i].add_whole(name, tensor(deployed, name, count), tensor(integers, name, count));
    }
  }

  const VerifyOptions& options_;
  RuntimeEntry runtime_;
  Runner runner_;
  DeployedModel model_;
  const Value& input_;
  Graph simulation_;
  Executor executor_;
  Task task_;
  std::vector<OutputSums> sums_;  // one an output
  ScratchFolder folder_;
  std::string tapped_;  // the file with its codes in sight
  std::unique_ptr<IntegerNetwork> network_;
  VerifyResult result_;
};

}  // namespace

VerifyResult verify(const std::string& file, const Dataset& data, const VerifyOptions& options) {
  Verification verification(file, options, data.task());
  LoadOptions load;
  QUENCH_CHECK(data.size() > 0, "there is no data to verify on");
  load.batch_size = verification.items_a_call(data.get(0).input.tensor().numel());
  Loader loader(data, load);
  std::int64_t done = 0;
  while (const std::optional<Batch> batch = loader.next()) {
    with_context([&] { return concat("while verifying ", file); }, [&] { verification.add(*batch); });
    done += static_cast<std::int64_t>(batch->names.size());
    if (options.progress) options.progress(done, data.size());
  }
  return verification.result();
}

}  // namespace quench
