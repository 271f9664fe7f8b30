// Convolutions with one to three spatial dims, plain, transposed, and on integers.
#include "ops/conv.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "ops/arguments.h"
#include "ops/shape_rules.h"
#include "quant/code_tensor.h"
#include "quench/error.h"

namespace quench {
namespace {

void check_conv(const Node& node, const at::Tensor& x, const at::Tensor& w) {
  QUENCH_CHECK(x.dim() == w.dim() && x.dim() >= 3 && x.dim() <= 5, node.where(),
               ": data and weight must have the same rank of 3 to 5, not ", x.dim(), " and ", w.dim());
}

at::Tensor transpose_by(const Window& window, const std::vector<std::int64_t>& padding,
                        const std::vector<std::int64_t>& output_padding, const at::Tensor& x, const at::Tensor& w,
                        const std::optional<at::Tensor>& bias, std::int64_t groups) {
  const auto &strides = window.strides, &dilations = window.dilations;
  switch (x.dim()) {
    case 3: return at::conv_transpose1d(x, w, bias, strides, padding, output_padding, groups, dilations);
    case 4: return at::conv_transpose2d(x, w, bias, strides, padding, output_padding, groups, dilations);
    default: return at::conv_transpose3d(x, w, bias, strides, padding, output_padding, groups, dilations);
  }
}

at::Tensor convolve_as(const Node& node, const at::Tensor& x, const at::Tensor& w,
                       const std::optional<at::Tensor>& bias) {
  return convolve(conv_form(node, x, w), x, w, bias);
}

std::vector<RtValue> conv(const Node& node, const Inputs& in, ExecContext&) {
  return {convolve_as(node, in[0].tensor(), in[1].tensor(), optional_tensor(in, 2))};
}

// A zero point of one element, or one for each channel of `axis`.
at::Tensor minus_zero_point(const at::Tensor& codes, const Inputs& in, std::size_t slot, std::int64_t axis) {
  const at::Tensor wide = codes.to(at::kDouble);
  if (!given(in, slot)) return wide;
  const at::Tensor zero = in[slot].tensor().to(at::kDouble);
  return wide - (zero.numel() == 1 ? zero.reshape({}) : per_channel(zero, codes.dim(), axis));
}

// Sums of products of bytes are exact in double, and its kernels are far faster than integer ones.
std::vector<RtValue> conv_integer(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor x = minus_zero_point(in[0].tensor(), in, 2, 1);
  const at::Tensor w = minus_zero_point(in[1].tensor(), in, 3, 0);
  return {convolve_as(node, x, w, std::nullopt).to(at::kLong).to(at::kInt)};
}

// x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias: accumulates in int32, scales in float.
std::vector<RtValue> qlinear_conv(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor x = minus_zero_point(in[0].tensor(), in, 2, 1);
  const at::Tensor w = minus_zero_point(in[3].tensor(), in, 5, 0);
  at::Tensor sum = convolve_as(node, x, w, std::nullopt);
  if (given(in, 8)) sum = sum + per_channel(in[8].tensor().to(at::kDouble), sum.dim());
  const at::Tensor w_scale = in[4].tensor();
  const at::Tensor factor = in[1].tensor().reshape({}) *
                            (w_scale.numel() == 1 ? w_scale.reshape({}) : per_channel(w_scale, sum.dim())) /
                            in[6].tensor().reshape({});
  return {nearest_bytes(sum.to(at::kFloat) * factor, in[7].tensor())};
}

struct Transposed {
  Window window;
  std::vector<std::int64_t> output_padding;
};

std::int64_t floor_half(std::int64_t number) { return number >= 0 ? number / 2 : -((1 - number) / 2); }

// Pads that give the wanted size. Where it is larger than the natural one they are negative: zeros are
// appended.
void pads_for_size(Transposed& conv, std::size_t axis, std::int64_t size, std::int64_t wanted) {
  Window& window = conv.window;
  const std::int64_t total =
      window.strides[axis] * (size - 1) + conv.output_padding[axis] + window.extent(axis) - wanted;
  const std::int64_t half = floor_half(total);
  window.begin[axis] = window.auto_pad == "SAME_UPPER" ? half : total - half;
  window.end[axis] = total - window.begin[axis];
}

Transposed transposed_of(const Node& node, const std::vector<std::int64_t>& kernel) {
  Transposed conv{window_of(node, kernel), {}};
  const std::vector<std::int64_t> none(conv.window.kernel.size(), 0);
  conv.output_padding = node.get_ints("output_padding", none);
  QUENCH_CHECK(conv.output_padding.size() == none.size(), node.where(), ": output_padding must have ", none.size(),
               " elements, it has ", conv.output_padding.size());
  for (const std::int64_t number : conv.output_padding)
    QUENCH_CHECK(number >= -kLargestStep && number <= kLargestStep, node.where(), ": an output_padding of ", number,
                 " is larger than any window");
  return conv;
}

// The spatial part of output_shape, which may name batch and channels too; empty when absent.
std::vector<std::int64_t> wanted_shape(const Node& node, std::size_t rank) {
  std::vector<std::int64_t> wanted = node.get_ints("output_shape", {});
  if (wanted.size() == rank + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
  QUENCH_CHECK(wanted.empty() || wanted.size() == rank, node.where(), ": output_shape must have ", rank,
               " elements, it has ", wanted.size());
  return wanted;
}

void resolve_transposed(const Node& node, Transposed& conv, const std::vector<std::int64_t>& sizes) {
  const std::vector<std::int64_t> wanted = wanted_shape(node, sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!wanted.empty())
      pads_for_size(conv, i, sizes[i], wanted[i]);
    else if (conv.window.is_same())
      pads_for_size(conv, i, sizes[i], sizes[i] * conv.window.strides[i]);
  }
}

// LibTorch takes equal pads that are not negative, and an output padding smaller than stride or dilation.
bool has_direct_form(const Transposed& conv) {
  for (std::size_t i = 0; i < conv.output_padding.size(); ++i) {
    const Window& window = conv.window;
    if (window.begin[i] != window.end[i] || window.begin[i] < 0) return false;
    if (conv.output_padding[i] >= std::max(window.strides[i], window.dilations[i])) return false;
  }
  return true;
}

std::vector<RtValue> conv_transpose(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor &x = in[0].tensor(), &w = in[1].tensor();
  check_conv(node, x, w);
  Transposed conv = transposed_of(node, spatial_sizes(w));
  resolve_transposed(node, conv, spatial_sizes(x));
  const Window& window = conv.window;
  const std::int64_t groups = node.get_int("group", 1);
  if (has_direct_form(conv))
    return {transpose_by(window, window.begin, conv.output_padding, x, w, optional_tensor(in, 2), groups)};
  // The full result, cropped or extended by zeros; the bias comes last, for it reaches those zeros too.
  const std::vector<std::int64_t> none(window.kernel.size(), 0);
  at::Tensor y = transpose_by(window, none, none, x, w, std::nullopt, groups);
  std::vector<std::int64_t> begin, end;
  for (std::size_t i = 0; i < none.size(); ++i) {
    begin.push_back(-window.begin[i]);
    end.push_back(conv.output_padding[i] - window.end[i]);
  }
  y = pad_spatial(y, begin, end, 0.0);
  return {given(in, 2) ? y + per_channel(in[2].tensor(), y.dim()) : y};
}

// kernel_shape, else the weight's dims; nothing where neither is known.
std::optional<std::vector<std::int64_t>> static_kernel(const Node& node, int weight_slot) {
  if (node.has("kernel_shape")) return node.get_ints("kernel_shape", {});
  const std::optional<Dims> weight = input_dims(node, weight_slot);
  if (!weight || weight->size() < 3) return std::nullopt;
  std::vector<std::int64_t> kernel;
  for (std::size_t i = 2; i < weight->size(); ++i) {
    if (!(*weight)[i].is_number()) return std::nullopt;
    kernel.push_back((*weight)[i].number());
  }
  return kernel;
}

template <int WeightSlot>
std::optional<Dims> conv_dims(const Node& node) {
  const std::optional<Dims> x = input_dims(node, 0), w = input_dims(node, WeightSlot);
  if (!x || x->size() < 3) return std::nullopt;
  Dims y(x->size());
  y[0] = (*x)[0];
  if (w && !w->empty()) y[1] = (*w)[0];
  const auto kernel = static_kernel(node, WeightSlot);
  if (!kernel) return y;
  QUENCH_CHECK(kernel->size() + 2 == x->size(), node.where(), ": a kernel of rank ", kernel->size(),
               " on data of the shape ", text_of(*x));
  const Window window = window_of(node, *kernel);
  for (std::size_t i = 0; i < kernel->size(); ++i) y[i + 2] = window.output_dim(i, (*x)[i + 2]);
  return y;
}

void conv_shapes(Node& node) { set_type(node, 0, input_dtype(node, 0), conv_dims<1>(node)); }
void conv_integer_shapes(Node& node) { set_type(node, 0, DType::kInt32, conv_dims<1>(node)); }
void qlinear_conv_shapes(Node& node) { set_type(node, 0, input_dtype(node, 7), conv_dims<3>(node)); }

void conv_transpose_shapes(Node& node) {
  const std::optional<Dims> x = input_dims(node, 0), w = input_dims(node, 1);
  const auto kernel = static_kernel(node, 1);
  if (!x || x->size() < 3) return set_type(node, 0, input_dtype(node, 0), std::nullopt);
  Dims y(x->size());
  y[0] = (*x)[0];
  if (w && w->size() > 1) y[1] = (*w)[1] * Dim(node.get_int("group", 1));
  if (kernel && kernel->size() + 2 == x->size()) {
    const Transposed conv = transposed_of(node, *kernel);
    const std::vector<std::int64_t> wanted = wanted_shape(node, kernel->size());
    for (std::size_t i = 0; i < kernel->size(); ++i) {
      const Dim& dim = (*x)[i + 2];
      const Window& window = conv.window;
      const std::int64_t rest = conv.output_padding[i] + window.extent(i) - window.begin[i] - window.end[i];
      if (!wanted.empty())
        y[i + 2] = Dim(wanted[i]);
      else if (window.is_same() || rest == window.strides[i])
        y[i + 2] = dim * Dim(window.strides[i]);
      else if (dim.is_number())
        y[i + 2] = Dim(window.strides[i] * (dim.number() - 1) + rest);
    }
  }
  set_type(node, 0, input_dtype(node, 0), y);
}

// Each element of `of` takes one product with every weight element of one channel along `axis`.
std::int64_t macs_of(const Value* of, const Value* weight, std::size_t axis) {
  if (!of || !weight || !of->has_rank() || !weight->has_rank() || weight->dims().size() <= axis) return -1;
  const Dim elements = product(of->dims(), 0, of->dims().size());
  const Dim total = elements * product(weight->dims(), 0, weight->dims().size());
  const Dim result = divide_exactly(total, weight->dims()[axis]);
  return result.is_number() ? result.number() : -1;
}
const Value* first_output(const Node& node) { return node.outputs().empty() ? nullptr : node.outputs()[0]; }
std::int64_t conv_macs(const Node& node) { return macs_of(first_output(node), node.input(1), 0); }
std::int64_t qlinear_conv_macs(const Node& node) { return macs_of(first_output(node), node.input(3), 0); }
std::int64_t conv_transpose_macs(const Node& node) { return macs_of(node.input(0), node.input(1), 0); }

OpTraits conv_traits(int weight, int bias, int (*axis)(const Node&), std::int64_t (*macs)(const Node&)) {
  OpTraits traits;
  traits.weight_slot = weight;
  traits.bias_slot = bias;
  traits.weight_axis = axis;
  traits.macs = macs;
  if (macs != qlinear_conv_macs && bias > 0) traits.parameter_slots = {weight, bias};
  return traits;
}
int first_axis(const Node&) { return 0; }
int second_axis(const Node&) { return 1; }

}  // namespace

ConvForm conv_form(const Node& node, const at::Tensor& x, const at::Tensor& w) {
  check_conv(node, x, w);
  ConvForm form{window_of(node, spatial_sizes(w)), node.get_int("group", 1)};
  form.window.resolve(spatial_sizes(x));
  return form;
}

namespace {

// The data and the pads that LibTorch takes: equal ones on both sides.
struct Padded {
  Padded(const ConvForm& form, const at::Tensor& given) : x(given), pads(form.window.begin) {
    if (form.window.is_symmetric()) return;
    x = pad_spatial(given, form.window.begin, form.window.end, 0.0);
    std::fill(pads.begin(), pads.end(), 0);
  }
  at::Tensor x;
  std::vector<std::int64_t> pads;
};

}  // namespace

// By the functions that autocast knows: it lets at::convolution compute in float32.
at::Tensor convolve(const ConvForm& form, const at::Tensor& x, const at::Tensor& w,
                    const std::optional<at::Tensor>& bias) {
  const Window& window = form.window;
  const Padded padded(form, x);
  switch (x.dim()) {
    case 3: return at::conv1d(padded.x, w, bias, window.strides, padded.pads, window.dilations, form.groups);
    case 4: return at::conv2d(padded.x, w, bias, window.strides, padded.pads, window.dilations, form.groups);
    default: return at::conv3d(padded.x, w, bias, window.strides, padded.pads, window.dilations, form.groups);
  }
}

at::Tensor weight_gradient(const ConvForm& form, const at::Tensor& dy, const at::Tensor& x, const at::Tensor& w) {
  const Padded padded(form, x);
  const std::vector<std::int64_t> none(padded.pads.size(), 0);
  return std::get<1>(at::convolution_backward(dy, padded.x, w, std::nullopt, form.window.strides, padded.pads,
                                              form.window.dilations, /*transposed=*/false, none, form.groups,
                                              {false, true, false}));
}

QUENCH_REGISTER_OP("Conv", conv, conv_shapes, conv_traits(1, 2, first_axis, conv_macs), "convolution")
QUENCH_REGISTER_OP("ConvTranspose", conv_transpose, conv_transpose_shapes,
                   conv_traits(1, 2, second_axis, conv_transpose_macs), "transposed convolution")
QUENCH_REGISTER_OP("ConvInteger", conv_integer, conv_integer_shapes, conv_traits(1, -1, first_axis, conv_macs),
                   "convolution of bytes, giving int32")
QUENCH_REGISTER_OP("QLinearConv", qlinear_conv, qlinear_conv_shapes, conv_traits(3, 8, first_axis, qlinear_conv_macs),
                   "convolution of bytes, requantized")

}  // namespace quench
