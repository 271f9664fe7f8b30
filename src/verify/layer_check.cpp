#include "verify/layer_check.h"

#include <ATen/ATen.h>

#include "quench/error.h"
#include "quench/rt_value.h"
#include "quench/verify.h"
#include "verify/code_differences.h"

namespace quench {

at::Tensor Call::trimmed(const at::Tensor& joined) const {
  return joined.dim() > 0 && joined.size(0) == fed ? joined.slice(0, 0, items) : joined;
}

LayerCheck::LayerCheck(const DeployedModel& model, Requantize rule, const std::string& tapped_file)
    : model_(model), network_(model.simulated, rule), file_(tapped_file) {
  QUENCH_CHECK(!model_.taps.empty(), "no activation of '", model_.path,
               "' is quantized: there are no layers to compare");
  QUENCH_CHECK(
      model_.untapped.empty(), "the codes of '", model_.untapped[0],
      "' cannot be read from outside, so what follows cannot be recomputed: verify it without comparing layers");
  write_tapped(model_, file_);
}

std::vector<TensorResult> LayerCheck::tensors() const {
  std::vector<TensorResult> tensors;
  for (const Tap& tap : model_.taps) {
    const Node* layer = network_.layer(tap.quantizer);
    const std::string made_by =
        layer ? layer->where()
              : concat("input '", model_.simulated.value(tap.quantizer).producer()->input(0)->name(), "'");
    tensors.push_back({tap.codes, made_by, network_.is_exact(tap.quantizer), {}, {}});
  }
  return tensors;
}

// Slices are of one size, so that what was joined along the first axis comes apart in equal parts.
IntegerNetwork::Codes LayerCheck::codes_of(const NamedValues& found, std::size_t slice, std::size_t slices) const {
  IntegerNetwork::Codes codes;
  for (const Tap& tap : model_.taps) {
    const at::Tensor& joined = found.at(tap.codes).tensor();
    const std::int64_t rows = joined.size(0) / static_cast<std::int64_t>(slices);
    const at::Tensor part = joined.narrow(0, static_cast<std::int64_t>(slice) * rows, rows);
    codes[tap.quantizer] = with_context([&] { return concat("in the codes '", tap.codes, "' of the runner"); },
                                        [&] { return store_codes(part, network_.type(tap.quantizer).scheme); });
  }
  return codes;
}

NamedValues LayerCheck::add(const Call& call, const NamedValues& found, std::vector<TensorResult>& tensors) {
  std::map<std::string, std::vector<at::Tensor>> outputs;
  std::int64_t left = call.items;
  for (std::size_t i = 0; i < call.slices.size(); ++i) {
    const NamedValues& inputs = call.slices[i];
    const std::int64_t size = call.fed / static_cast<std::int64_t>(call.slices.size()), real = std::min(left, size);
    left -= real;
    const IntegerNetwork::Codes codes = codes_of(found, i, call.slices.size());
    const IntegerNetwork::Runs runs = network_.run_beside(inputs, codes);
    const Call slice{{}, real, size};
    for (std::size_t t = 0; t < model_.taps.size(); ++t) {
      const std::string& name = model_.taps[t].quantizer;
      const at::Tensor given = slice.trimmed(codes.at(name));
      tensors[t].local.add(code_differences(tensors[t].name, given, slice.trimmed(runs.local.at(name))));
      tensors[t].whole.add(code_differences(tensors[t].name, given, slice.trimmed(runs.whole.at(name))));
    }
    for (const auto& [name, value] : network_.outputs(inputs, runs.whole)) outputs[name].push_back(value.tensor());
  }
  NamedValues joined;
  for (const auto& [name, parts] : outputs) joined[name] = RtValue(at::cat(parts));
  return joined;
}

}  // namespace quench
