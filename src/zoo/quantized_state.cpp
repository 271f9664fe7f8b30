// read_quantized_state: what torch.ao.nn.quantized modules put into a state dict, by their conventions.
#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "quench/error.h"
#include "quench/state_dict.h"
#include "zoo/pickle_globals.h"
#include "zoo/torch_file.h"

namespace quench {
namespace {

using Kind = PickleValue::Kind;

constexpr std::string_view kScale = ".scale", kZeroPoint = ".zero_point";
constexpr std::string_view kPacked = "._packed_params";  // of a linear layer: where its weight and bias are

bool cut_end(std::string& name, std::string_view end) {
  if (!name.ends_with(end)) return false;
  name.erase(name.size() - end.size());
  return true;
}

// "fc._packed_params.weight" -> "fc.weight"
std::string unpacked_name(std::string name) {
  const std::size_t at = name.rfind(kPacked);
  if (at != std::string::npos && name.size() > at + kPacked.size()) name.erase(at, kPacked.size());
  return name;
}

float checked_scale(double scale) {
  QUENCH_CHECK(std::isfinite(scale) && scale > 0, "its scale is ", scale);
  return static_cast<float>(scale);
}

std::int32_t checked_zero_point(std::int64_t zero_point) {
  using Limits = std::numeric_limits<std::int32_t>;
  QUENCH_CHECK(zero_point >= Limits::min() && zero_point <= Limits::max(), "its zero point is ", zero_point);
  return static_cast<std::int32_t>(zero_point);
}

QParams params_of(const at::Tensor& scales, const at::Tensor& zero_points) {
  QUENCH_CHECK(scales.numel() == zero_points.numel(), "it has ", scales.numel(), " scales and ", zero_points.numel(),
               " zero points");
  const at::Tensor s = scales.to(at::kDouble).reshape(-1), z = zero_points.to(at::kLong).reshape(-1);
  QParams params;
  for (std::int64_t i = 0; i < s.numel(); ++i) {
    params.scale.push_back(checked_scale(s[i].item<double>()));
    params.zero_point.push_back(checked_zero_point(z[i].item<std::int64_t>()));
  }
  return params;
}

class QuantizedReader {
 public:
  explicit QuantizedReader(const std::string& path) : file_(path) {}

  QuantizedState read() {
    for (const TorchFile::Entry& entry : file_.entries())
      with_context([&] { return concat("in entry '", entry.name, "'"); },
                   [&] {
                     add(unpacked_name(entry.name), *entry.value);
                     return 0;
                   });
    move_outputs();
    QUENCH_CHECK(!state_.grids.empty(), "it has no quantized tensor: read_state_dict reads such files");
    return std::move(state_);
  }

 private:
  void add(const std::string& name, const PickleValue& value) {
    if (value.kind == Kind::kTensor) {
      state_.tensors[name] = file_.tensor(value);
    } else if (value.kind == Kind::kCodes) {
      add_codes(name, value);
    } else if (value.kind == Kind::kTuple && name.ends_with(kPacked)) {
      add_packed(name.substr(0, name.size() - kPacked.size()), value);
    } else {
      const bool says_nothing = value.kind == Kind::kNone || (value.kind == Kind::kGlobal && is_code_dtype(value.text));
      QUENCH_CHECK(says_nothing, "it is ", name_of(value.kind), ", not a tensor or a layer's weight and bias");
    }
  }

  void add_packed(const std::string& layer, const PickleValue& weight_and_bias) {
    QUENCH_CHECK(weight_and_bias.items.size() == 2, "it has ", weight_and_bias.items.size(),
                 " parts; a weight and a bias were expected");
    add(unpacked_name(layer + ".weight"), file_.at(weight_and_bias.items[0]));
    add(unpacked_name(layer + ".bias"), file_.at(weight_and_bias.items[1]));
  }

  void add_codes(const std::string& name, const PickleValue& value) {
    const at::Tensor codes = file_.tensor(file_.at(value.items[0]));
    QUENCH_CHECK(at::isIntegralType(codes.scalar_type(), false), "its codes are ", codes.scalar_type());
    state_.grids[name] = grid_of(file_.at(value.items[1]), codes);
    state_.tensors[name] = codes;
  }

  // (per_tensor_affine, scale, zero point), or (per_channel_affine, scales, zero points, axis)
  QuantizedState::Grid grid_of(const PickleValue& parts, const at::Tensor& codes) {
    const auto is = [&](std::size_t i, Kind kind) {
      return i < parts.items.size() && file_.at(parts.items[i]).kind == kind;
    };
    const std::string scheme = is(0, Kind::kGlobal) ? file_.at(parts.items[0]).text : "";
    if (scheme == kPerTensorAffine && is(1, Kind::kFloat) && is(2, Kind::kInt))
      return {{{checked_scale(file_.at(parts.items[1]).real)}, {checked_zero_point(file_.at(parts.items[2]).number)}}};
    QUENCH_CHECK(scheme == kPerChannelAffine && is(1, Kind::kTensor) && is(2, Kind::kTensor) && is(3, Kind::kInt),
                 "its scales are neither per_tensor_affine nor per_channel_affine");
    const std::int64_t axis = file_.at(parts.items[3]).number;
    QuantizedState::Grid grid{
        params_of(file_.tensor(file_.at(parts.items[1])), file_.tensor(file_.at(parts.items[2])))};
    QUENCH_CHECK(axis >= 0 && axis < codes.dim() && std::cmp_equal(grid.params.scale.size(), codes.size(axis)),
                 "it has ", grid.params.scale.size(), " scales along axis ", axis, " of shape ", codes.sizes());
    grid.axis = static_cast<int>(axis);
    return grid;
  }

  // "conv.scale" and "conv.zero_point" are of what conv writes.
  void move_outputs() {
    for (auto at = state_.tensors.begin(); at != state_.tensors.end();) {
      std::string module = at->first;
      const auto zero_point =
          cut_end(module, kScale) ? state_.tensors.find(concat(module, kZeroPoint)) : state_.tensors.end();
      if (zero_point == state_.tensors.end()) {
        ++at;
        continue;
      }
      state_.outputs[module] = with_context([&] { return concat("in the scale of '", module, "'"); },
                                            [&] { return params_of(at->second, zero_point->second); });
      state_.tensors.erase(zero_point);
      at = state_.tensors.erase(at);
    }
  }

  TorchFile file_;
  QuantizedState state_;
};

}  // namespace

at::Tensor QuantizedState::dequantized(const std::string& name) const {
  const auto grid = grids.find(name);
  QUENCH_CHECK(grid != grids.end(), "the state dict has no quantized tensor '", name, "'");
  const at::Tensor codes = tensors.at(name).to(at::kFloat);
  std::vector<std::int64_t> shape(static_cast<std::size_t>(codes.dim()), 1);
  if (grid->second.axis >= 0) shape[static_cast<std::size_t>(grid->second.axis)] = -1;
  const QParams& params = grid->second.params;
  return (codes - at::tensor(params.zero_point).view(shape)) * at::tensor(params.scale).view(shape);
}

QuantizedState read_quantized_state(const std::string& path) {
  return with_context([&] { return concat("while reading the weights in '", path, "'"); },
                      [&] { return QuantizedReader(path).read(); });
}

}  // namespace quench
