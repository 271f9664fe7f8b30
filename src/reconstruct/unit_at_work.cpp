#include "reconstruct/unit_at_work.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>

#include "convert/quantized.h"
#include "graph/autocast.h"
#include "quant/reference.h"
#include "quench/error.h"
#include "quench/op.h"
#include "reconstruct/method_options.h"

namespace quench {
namespace {

// Why the rounding of this weight cannot learn; "" if it can.
std::string why_not(const Node& quantizer, const Unit& unit) {
  const FakeQuantSpec spec = fake_quant_spec(quantizer);
  const Value& weight = *quantizer.input(0);
  if (!spec.scheme.is_int()) return "its codes are not integers";
  if (!is_on(quantizer)) return "its quantizer is off";
  if (!weight.is_constant()) return "its weight is computed";
  if (weight.uses().size() != 1 || weight.is_graph_output()) return "its weight is read elsewhere, too";
  const at::Tensor probe = at::zeros({1});
  if (!fake_quant_of(quantizer)->transform(probe).is_same(probe)) return concat("'", spec.algorithm, "' reshapes it");
  for (const Value::Use& use : quantizer.output().uses())
    if (std::find(unit.nodes.begin(), unit.nodes.end(), use.node->name()) == unit.nodes.end())
      return concat("its weight is also that of '", use.node->name(), "' in another unit");
  return "";
}

// The bias of the BatchNormalization behind a layer, else the layer's own; null if it has none.
Value* bias_behind(const Node& layer) {
  const std::vector<Value::Use>& uses = layer.output().uses();
  if (uses.size() == 1 && uses[0].node->op() == "BatchNormalization") return uses[0].node->input(2);
  const int slot = entry_of(layer).traits.bias_slot;
  Value* bias = slot < 0 ? nullptr : layer.input(slot);
  return bias && is_bias_quantizer(bias->producer()) ? bias->producer()->input(0) : bias;
}

bool begins_with_any(const std::string& name, const std::vector<std::string>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](const std::string& one) { return name.starts_with(one); });
}

Node* weight_quantizer_of(Node& layer) {
  const int slot = entry_of(layer).traits.weight_slot;
  Node* quantizer = slot < 0 ? nullptr : quantizer_in_front(layer, slot);
  return quantizer && fake_quant_spec(*quantizer).role == Role::kWeight ? quantizer : nullptr;
}

// What the quantizer makes of it in place of its weight, where and as its weight is; a copy.
at::Tensor on_grid(const Node& quantizer, const at::Tensor& by) {
  FakeQuantTensors here;  // where the value lies
  for (const at::Tensor& one : fake_quant_tensors(quantizer).all) here.all.push_back(one.detach().to(by.device()));
  const at::Tensor rounded = fake_quant_of(quantizer)->quantize(by.detach().to(at::kFloat), here, {});
  const at::Tensor& weight = quantizer.input(0)->tensor();
  return rounded.to(weight.device(), weight.scalar_type()).clone();
}

}  // namespace

UnitAtWork::UnitAtWork(Graph& graph, const Unit& unit, const Streams& streams, Executor& training,
                       WorkSettings settings)
    : graph_(graph), unit_(unit), streams_(streams), training_(training), settings_(std::move(settings)) {
  find_quantizers();
  find_biases();
}

void UnitAtWork::find_quantizers() {
  for (const std::string& name : unit_.nodes) {
    Node& node = *graph_.find_node(name);
    if (is_quantizer(&node)) activations_.push_back(&node);
    Node* quantizer = weight_quantizer_of(node);
    if (!quantizer) continue;
    if (std::find(weights_.begin(), weights_.end(), quantizer) != weights_.end()) continue;
    const std::string why = is_excluded(name) ? "it is excluded" : why_not(*quantizer, unit_);
    if (why.empty())
      weights_.push_back(quantizer);
    else
      leave_out(node, why);
  }
}

void UnitAtWork::find_biases() {
  for (const std::string& name : unit_.layers) {
    Node& layer = *graph_.find_node(name);
    const Node* quantizer = weight_quantizer_of(layer);
    const bool is_left_out = quantizer && std::find(weights_.begin(), weights_.end(), quantizer) == weights_.end();
    if (is_left_out || is_excluded(name)) continue;
    Value* bias = bias_behind(layer);
    if (bias && bias->is_constant() && bias->uses().size() == 1 && bias->tensor().scalar_type() == at::kFloat)
      biases_.push_back(bias);
  }
}

bool UnitAtWork::is_excluded(const std::string& layer) const {
  return begins_with_any(layer, words_of(settings_.options, "exclude_node_prefix"));
}

void UnitAtWork::leave_out(const Node& layer, const std::string& why) {
  note_ += concat(note_.empty() ? "" : "; ", "'", layer.name(), "' learns nothing: ", why);
}

at::Tensor UnitAtWork::draw(std::int64_t step) const { return draws(step, 1).squeeze(0); }

at::Tensor UnitAtWork::draws(std::int64_t first, std::int64_t steps) const {
  std::vector<std::int64_t> rows;
  const std::int64_t items = streams_.items(), batch = std::min(settings_.batch, items);
  for (std::int64_t at = first * batch; at < (first + steps) * batch; ++at) {
    if (at / items != epoch_) {
      epoch_ = at / items;
      LoadOptions order;
      order.shuffle = true;
      order.seed = settings_.seed + static_cast<std::uint64_t>(epoch_);
      order_ = loading_order(items, order);
    }
    rows.push_back(order_[static_cast<std::size_t>(at % items)]);
  }
  return at::tensor(rows, at::kLong).reshape({steps, batch}).to(at::Device(settings_.device));
}

NamedValues UnitAtWork::float_inputs(const at::Tensor& rows) const { return streams_.plain().inputs(unit_, rows); }

NamedValues UnitAtWork::quantized_inputs(const at::Tensor& rows) const {
  return streams_.quantized().inputs(unit_, rows);
}

at::Tensor UnitAtWork::target(const at::Tensor& rows) const { return streams_.plain().store(unit_.output()).get(rows); }

at::Tensor UnitAtWork::sensitivity(const at::Tensor& rows) {
  if (!sensitivity_) sensitivity_ = settings_.find_sensitivity(rest());
  return sensitivity_->get(rows);
}

at::Tensor UnitAtWork::prediction(const at::Tensor& rows) {
  if (!prediction_) prediction_ = settings_.find_prediction(rest());
  return prediction_->get(rows);
}

at::Tensor UnitAtWork::predict(const at::Tensor& output, const at::Tensor& rows) {
  return rest().run(output, rows).begin()->second.tensor();
}

RestOfNetwork& UnitAtWork::rest() {
  QUENCH_CHECK(settings_.ends.empty(),
               "nothing lies behind the whole network: sensitivity(), prediction() and predict() are for units");
  if (!rest_) rest_ = settings_.find_rest();
  return *rest_;
}

void UnitAtWork::replace(const Value& value, const at::Tensor& by) { replaced_[value.name()] = RtValue(by); }

at::Tensor UnitAtWork::run(const NamedValues& inputs, std::uint64_t step) {
  return run(inputs, step, {unit_.output()}).begin()->second.tensor();
}

NamedValues UnitAtWork::run_float(const NamedValues& inputs, const std::vector<std::string>& values) {
  return settings_.plain.run(inputs, values);
}

const Node& UnitAtWork::calibrated(const Node& quantizer) const {
  return *settings_.before.find_node(quantizer.name());
}

NamedValues UnitAtWork::run(const NamedValues& inputs, std::uint64_t step, const std::vector<std::string>& values) {
  NamedValues feeds = inputs;
  for (const auto& [name, value] : replaced_) feeds[name] = value;
  training_.options().seed = settings_.seed;
  training_.options().step = step;
  const Autocast autocast(settings_.options.flag("bf16"), settings_.device);
  NamedValues results = training_.run(feeds, values);
  for (auto& [name, value] : results)
    if (value.tensor().scalar_type() == at::kBFloat16) value = RtValue(value.tensor().to(at::kFloat));
  return results;
}

void UnitAtWork::count_by(const at::Tensor& counter) {
  training_.options().counter = reinterpret_cast<const std::uint64_t*>(counter.const_data_ptr<std::int64_t>());
}

void UnitAtWork::commit(Value& constant, const at::Tensor& by) {
  QUENCH_CHECK(constant.is_constant() && by.sizes() == constant.tensor().sizes(), "'", constant.name(),
               "' cannot become a tensor of the shape ", by.sizes());
  QUENCH_CHECK(by.isfinite().all().item<bool>(), "'", constant.name(), "' became NaN or infinite");
  const c10::AutoGradMode no_grad(false);
  Node* quantizer = quantizer_behind(constant);
  if (quantizer) return commit_weight(*quantizer, by);
  if (std::find(biases_.begin(), biases_.end(), &constant) == biases_.end()) check_quantizer_constant(constant, by);
  graph_.set_tensor(constant, by.detach().to(constant.tensor().device(), constant.tensor().scalar_type()).clone());
  replaced_.erase(constant.name());
}

bool UnitAtWork::is_own_quantizer(const Node* node) const {
  return std::find(weights_.begin(), weights_.end(), node) != weights_.end() ||
         std::find(activations_.begin(), activations_.end(), node) != activations_.end();
}

// Biases in int32 follow the scales of what they are added to, wherever they are.
void UnitAtWork::check_quantizer_constant(const Value& constant, const at::Tensor& by) const {
  const std::vector<Value::Use>& uses = constant.uses();
  QUENCH_CHECK(std::any_of(uses.begin(), uses.end(), [&](const Value::Use& use) { return is_own_quantizer(use.node); }),
               "'", constant.name(), "' is neither a weight nor a bias of the unit '", unit_.name,
               "' that can learn, nor read by one of its quantizers");
  for (const Value::Use& use : uses) {
    if (is_bias_quantizer(use.node)) continue;
    QUENCH_CHECK(is_own_quantizer(use.node), "'", constant.name(), "' is also read by ", use.node->where(),
                 ", which does not belong to the unit '", unit_.name, "'");
    if (use.slot != 1) continue;
    QUENCH_CHECK(by.gt(0).all().item<bool>(), "the scale '", constant.name(), "' must be positive everywhere");
    QUENCH_CHECK(!fake_quant_spec(*use.node).scheme.power_of_two_scale() || by.log2().frac().eq(0).all().item<bool>(),
                 "the scale '", constant.name(), "' must be a power of two everywhere");
  }
}

void UnitAtWork::commit_weight(Node& quantizer, const at::Tensor& by) {
  QUENCH_CHECK(std::find(weights_.begin(), weights_.end(), &quantizer) != weights_.end(), quantizer.where(),
               " is not a weight of the unit '", unit_.name, "' that can learn");
  graph_.set_tensor(*quantizer.input(0), on_grid(quantizer, by));
  replaced_.erase(quantizer.output().name());
}

void UnitAtWork::progress(std::int64_t done, std::int64_t total) {
  if (settings_.progress) settings_.progress(done, total);
}

std::map<std::string, at::Tensor> UnitAtWork::learned() const {
  std::map<std::string, at::Tensor> tensors;
  for (const Node* node : weights_) tensors[node->input(0)->name()] = node->input(0)->tensor();
  for (const Value* bias : biases_) tensors[bias->name()] = bias->tensor();
  for (const auto* quantizers : {&weights_, &activations_})
    for (const Node* node : *quantizers)
      for (int slot = 1; node->input(slot); ++slot)
        if (const Value* constant = node->input(slot); constant->is_constant())
          tensors[constant->name()] = constant->tensor();
  return tensors;
}

double UnitAtWork::moved() const {
  const c10::AutoGradMode no_grad(false);
  const auto codes_of = [](const Node& quantizer) {
    const at::Tensor weight = on_grid(quantizer, quantizer.input(0)->tensor());
    return quantize_reference(weight.cpu().to(at::kFloat), qtype_of(quantizer));
  };
  double moved = 0, all = 0;
  for (const Node* node : weights_) {
    const at::Tensor codes = codes_of(*node);
    moved += (codes != codes_of(calibrated(*node))).sum().item<double>();
    all += static_cast<double>(codes.numel());
  }
  return all > 0 ? moved / all : 0;
}

std::map<std::string, at::Tensor> UnitAtWork::calibrated() const {
  const c10::AutoGradMode no_grad(false);
  std::map<std::string, at::Tensor> tensors = learned();
  for (auto& [name, tensor] : tensors) tensor = tensor.detach().clone();
  for (const Node* node : weights_) tensors[node->input(0)->name()] = on_grid(*node, node->input(0)->tensor());
  return tensors;
}

}  // namespace quench
