#include "convert/fuse_layer.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "convert/coded.h"
#include "convert/layer_form.h"
#include "ops/clamp.h"
#include "ops/integer_form.h"
#include "quant/accumulator.h"
#include "quench/error.h"
#include "quench/op.h"
#include "quench/quantizers.h"

namespace quench {
namespace {

std::vector<float> floats_of(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.to(at::kFloat).reshape(-1).contiguous();
  return {flat.const_data_ptr<float>(), flat.const_data_ptr<float>() + flat.numel()};
}

// A layer, and the clamps between it and its quantizer.
struct Site {
  Node* layer = nullptr;
  std::vector<Node*> clamps;  // from the quantizer backwards
  std::string activation;
  Clip clip;
  bool is_shared = false;  // its result is read in float too
};

Site site_of(const Node& quantize) {
  Site site;
  const Value* value = quantize.input(0);
  for (Node* node = value->producer(); node; node = value->producer()) {
    const Clamp clamp = clamp_of(*node);
    if (!clamp.known || dequantized(node->input(0)) || value->uses().size() != 1 || value->is_graph_output()) break;
    site.clip.min = std::max(site.clip.min, static_cast<float>(clamp.low));
    site.clip.max = std::min(site.clip.max, static_cast<float>(clamp.high));
    site.activation = is_relu6(*node) ? "Relu6" : node->op();
    site.clamps.push_back(node);
    value = node->input(0);
  }
  site.layer = value->producer();
  site.is_shared = value->uses().size() > 1 || value->is_graph_output();
  return site;
}

class Fusion {
 public:
  Fusion(Graph& graph, Node& quantize, const FuseOptions& options, const std::map<std::string, at::Tensor>& biases)
      : graph_(graph),
        quantize_(quantize),
        arithmetic_(options.arithmetic),
        rounds_biases_(options.round_biases && !is_mlas(options.arithmetic.rule)),
        int32_biases_(biases),
        site_(site_of(quantize)),
        y_(quantized_by(quantize)) {}

  FusedLayer run() {
    if (!site_.layer) return {};
    FusedLayer result{nullptr, site_.layer->name(), read()};
    if (result.reason.empty()) result.node = &replace();
    return result;
  }

 private:
  std::string read() {
    const Node& layer = *site_.layer;
    LayerForm form;
    form.node = &layer;
    const int bias_slot = entry_of(layer).traits.bias_slot;
    for (int slot = 0; slot < static_cast<int>(layer.inputs().size()); ++slot) {
      if (slot == bias_slot) continue;
      operands_.push_back(dequantized(layer.input(slot)));
    }
    for (const std::optional<Coded>& operand : operands_) form.in.push_back(operand ? &operand->type : nullptr);
    form.y = &y_.type;
    form.clip = site_.clip;
    form.rule = arithmetic_.rule;
    bias_ = bias_slot >= 0 ? layer.input(bias_slot) : nullptr;
    form.float_bias = bias_ && !int32_biases_.contains(bias_->name()) && !rounds_biases_;
    if (layer.op() == "quench.Quantize" || layer.op() == "quench.Dequantize") return "it has no layer of its own";
    if (std::string reason = why_float(form); !reason.empty()) return reason;
    if (site_.is_shared) return "its result is read in float too";
    return read_bias();
  }

  std::int64_t output_channels() const {
    const Node& layer = *site_.layer;
    const Value& w = *operands_[1]->codes;
    if (!w.is_constant()) return -1;
    const at::IntArrayRef sizes = w.tensor().sizes();
    if (layer.op() == "ConvTranspose") return sizes[1] * layer.get_int("group", 1);
    if (layer.op() == "Gemm") return sizes[layer.get_int("transB", 0) != 0 ? 0 : 1];
    return layer.op() == "Conv" ? sizes[0] : sizes.back();
  }

  std::string read_bias() {
    if (!bias_) return "";
    const auto known = int32_biases_.find(bias_->name());
    const std::optional<Coded> coded = dequantized(bias_);  // a tensor of its own, quantized as such (Vitis)
    at::Tensor bias;
    if (known != int32_biases_.end())
      bias = known->second;
    else if (coded && coded->codes->is_constant())
      bias = dequantize_reference(coded->codes->tensor(), coded->type);
    else if (bias_->is_constant())
      bias = bias_->tensor();
    else
      return "its bias is computed from the data";
    const std::int64_t channels = output_channels();
    if (bias.numel() == 1) bias = bias.reshape({1}).expand({channels});
    if (bias.numel() != channels || (bias.dim() > 0 && bias.size(-1) != channels)) return "its bias is not a vector";
    bias = bias.reshape({channels}).contiguous();
    if (known != int32_biases_.end()) return void(bias_codes_ = bias), "";
    const bool as_torch = arithmetic_.rule == Requantize::kQnnpack;
    try {
      const std::vector<std::int32_t> codes =
          quantize_bias(floats_of(bias), operands_[0]->type.params.scale[0], operands_[1]->type.params.scale,
                        as_torch ? QuantizeBy::kReciprocal : QuantizeBy::kDivision);
      bias_codes_ = at::tensor(at::ArrayRef<std::int32_t>(codes));
    } catch (const Error& error) {
      return error.message();
    }
    return "";
  }

  std::map<std::string, Attr> attributes() const {
    std::map<std::string, Attr> attrs = site_.layer->attrs;
    if (site_.layer->get_string("auto_pad", "NOTSET") == "VALID") attrs.erase("pads");
    attrs.erase("auto_pad");
    std::vector<std::string> schemes;
    for (const std::optional<Coded>& operand : operands_) schemes.push_back(operand->type.scheme.text());
    schemes.push_back(y_.type.scheme.text());
    attrs["schemes"] = schemes;
    attrs["requantize"] = std::string(name_of(arithmetic_.rule));
    if (arithmetic_.rule == Requantize::kHalfUp) attrs["multiplier_bits"] = std::int64_t{arithmetic_.multiplier_bits};
    if (std::isfinite(site_.clip.min)) attrs["clip_min"] = static_cast<double>(site_.clip.min);
    if (std::isfinite(site_.clip.max)) attrs["clip_max"] = static_cast<double>(site_.clip.max);
    if (!site_.activation.empty()) attrs["activation"] = site_.activation;
    return attrs;
  }

  std::vector<Value*> inputs() {
    std::vector<Value*> all;
    for (const std::optional<Coded>& operand : operands_)
      all.insert(all.end(), {operand->codes, operand->scale, operand->zero_point});
    all.insert(all.end(), {y_.scale, y_.zero_point});
    if (bias_codes_.defined()) all.push_back(&graph_.add_constant(graph_.unique_name(bias_name()), bias_codes_));
    return all;
  }

  // As in the float model, without what the quantizer of the bias added.
  std::string bias_name() const {
    const std::string name = bias_->name(), value = quantized_value(name);
    return value != name ? value : name + ".int32";
  }

  Node& replace() {
    const std::map<std::string, Attr> attrs = attributes();
    const std::vector<Value*> operands = inputs();
    const std::string name = site_.layer->name(), op = "quench.Q" + site_.layer->op();
    const std::string result = quantize_.output().name();
    const TypeInfo type = quantize_.output().type();
    graph_.set_input(quantize_, 0, operands[0]);  // lets go of the layer
    for (Node* clamp : site_.clamps) graph_.erase(*clamp);
    graph_.erase(*site_.layer);
    Node& made = graph_.insert_before(quantize_, op, name, operands);
    made.attrs = attrs;
    graph_.replace_uses(quantize_.output(), made.output());
    graph_.erase(quantize_);
    graph_.rename(made.output(), result);
    made.output().set_type(type);
    return made;
  }

  Graph& graph_;
  Node& quantize_;
  Arithmetic arithmetic_;
  bool rounds_biases_;
  const std::map<std::string, at::Tensor>& int32_biases_;
  Site site_;
  Coded y_;
  std::vector<std::optional<Coded>> operands_;  // without the bias
  Value* bias_ = nullptr;
  at::Tensor bias_codes_;
};

}  // namespace

FusedLayer fuse_layer(Graph& graph, Node& quantize, const FuseOptions& options,
                      const std::map<std::string, at::Tensor>& int32_biases) {
  return Fusion(graph, quantize, options, int32_biases).run();
}

}  // namespace quench
