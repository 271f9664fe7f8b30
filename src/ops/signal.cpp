// Fourier transforms, windows, and the mel filter bank. Complex numbers are pairs in a last dim of 2.
#include <ATen/ATen.h>

#include <cmath>
#include <numbers>

#include "ops/arguments.h"
#include "ops/convert.h"
#include "ops/reads_on_host.h"
#include "ops/shape_rules.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

// [..., 1] as a real tensor, [..., 2] as a complex one; half precision computes in float.
at::Tensor signal_of(const at::Tensor& input) {
  const bool is_wide = input.scalar_type() == at::kDouble || input.scalar_type() == at::kFloat;
  const at::Tensor x = is_wide ? input : input.to(at::kFloat);
  QUENCH_CHECK(x.dim() > 1 && (x.size(-1) == 1 || x.size(-1) == 2), "the last dim must be 1 (real) or 2 (complex)");
  return x.size(-1) == 1 ? x.squeeze(-1) : at::view_as_complex(x.contiguous());
}

int dft_axis(const Node& node, std::int64_t axis, int rank) {
  const int result = normalize_axis(axis, rank, node);
  QUENCH_CHECK(result < rank - 1, node.where(), ": the axis must not be the last, which holds the complex parts");
  return result;
}

std::vector<RtValue> dft(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor& input = in[0].tensor();
  const at::Tensor x = signal_of(input);
  const int axis = dft_axis(node, given(in, 2) ? integer_at(in, 2) : -2, static_cast<int>(input.dim()));
  const bool inverse = node.get_int("inverse", 0) != 0, onesided = node.get_int("onesided", 0) != 0;
  const std::int64_t usual = inverse && onesided ? 2 * (x.size(axis) - 1) : x.size(axis);
  const std::int64_t length = given(in, 1) ? integer_at(in, 1) : usual;
  if (inverse && onesided)
    return {at::fft_irfft(x.is_complex() ? x : at::complex(x, at::zeros_like(x)), length, axis)
                .unsqueeze(-1)
                .to(input.scalar_type())};
  const at::Tensor full = inverse ? at::fft_ifft(x, length, axis) : at::fft_fft(x, length, axis);
  const at::Tensor result = onesided ? full.narrow(axis, 0, length / 2 + 1) : full;
  return {at::view_as_real(result.resolve_conj()).to(input.scalar_type())};
}

void dft_shape(Node& node) {
  std::optional<Dims> dims = input_dims(node, 0);
  const auto axis = node.input(2) ? input_integer(node, 2) : std::optional<std::int64_t>(-2);
  if (!dims) return set_type(node, 0, input_dtype(node, 0), dims);
  const bool inverse = node.get_int("inverse", 0) != 0, onesided = node.get_int("onesided", 0) != 0;
  if (axis) {
    Dim& dim = (*dims)[static_cast<std::size_t>(dft_axis(node, *axis, static_cast<int>(dims->size())))];
    const auto length = input_integer(node, 1);
    if (node.input(1))
      dim = length ? Dim(*length) : Dim();
    else if (inverse && onesided)
      dim = dim.is_number() ? Dim(2 * (dim.number() - 1)) : Dim();
    if (onesided && !inverse) dim = dim.is_number() ? Dim(dim.number() / 2 + 1) : Dim();
  } else {
    dims = unknown_dims(dims->size());
  }
  dims->back() = inverse && onesided ? 1 : 2;
  set_type(node, 0, input_dtype(node, 0), dims);
}

std::vector<RtValue> stft(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor& input = in[0].tensor();
  const at::Tensor x = signal_of(input);
  const std::int64_t step = integer_at(in, 1);
  const std::int64_t length = given(in, 3) ? integer_at(in, 3) : given(in, 2) ? in[2].tensor().size(0) : x.size(1);
  QUENCH_CHECK(step > 0 && length > 0 && length <= x.size(1), "frames of ", length, " samples every ", step,
               " do not fit a signal of ", x.size(1));
  at::Tensor frames = x.unfold(1, length, step);
  if (given(in, 2)) frames = frames * in[2].tensor().to(at::toRealValueType(x.scalar_type()));
  at::Tensor result = at::fft_fft(frames, length, -1);
  if (node.get_int("onesided", 1) != 0) result = result.narrow(-1, 0, length / 2 + 1);
  return {at::view_as_real(result).to(input.scalar_type())};
}

void stft_shape(Node& node) {
  const auto dims = input_dims(node, 0), window = input_dims(node, 2);
  const auto step = input_integer(node, 1), given_length = input_integer(node, 3);
  Dim length, frames, bins;
  if (given_length)
    length = *given_length;
  else if (!node.input(3))
    length = node.input(2) ? (window && window->size() == 1 ? (*window)[0] : Dim())
                           : (dims && dims->size() == 3 ? (*dims)[1] : Dim());
  if (length.is_number()) bins = node.get_int("onesided", 1) != 0 ? length.number() / 2 + 1 : length.number();
  if (length.is_number() && step && *step > 0 && dims && dims->size() == 3 && (*dims)[1].is_number())
    frames = ((*dims)[1].number() - length.number()) / *step + 1;
  set_type(node, 0, input_dtype(node, 0), Dims{dims && !dims->empty() ? dims->front() : Dim(), frames, bins, 2});
}

DType output_dtype(const Node& node) { return dtype_from_onnx(node.get_int("output_datatype", 1)); }

// a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N), N the size, or one less for a symmetric window.
RtValue cosine_window(const Node& node, const Inputs& in, ExecContext& context, const std::array<double, 3>& a) {
  const std::int64_t size = integer_at(in, 0);
  const bool periodic = node.get_int("periodic", 1) != 0;
  const double length = periodic ? static_cast<double>(size) : std::max(1.0, static_cast<double>(size - 1));
  const at::Tensor angle = at::arange(size, at::kDouble).mul(2 * std::numbers::pi / length);
  const at::Tensor window = a[0] - a[1] * at::cos(angle) + a[2] * at::cos(angle * 2);
  return convert(RtValue(window.to(context.device())), output_dtype(node));
}

std::vector<RtValue> hann(const Node& node, const Inputs& in, ExecContext& context) {
  return {cosine_window(node, in, context, {0.5, 0.5, 0.0})};
}
// The coefficients of ONNX: 25/46 where others round to 0.54.
std::vector<RtValue> hamming(const Node& node, const Inputs& in, ExecContext& context) {
  return {cosine_window(node, in, context, {25.0 / 46.0, 21.0 / 46.0, 0.0})};
}
std::vector<RtValue> blackman(const Node& node, const Inputs& in, ExecContext& context) {
  return {cosine_window(node, in, context, {0.42, 0.5, 0.08})};
}

void window_shape(Node& node) {
  const auto size = input_contents(node, 0);
  set_type(node, 0, output_dtype(node), Dims{size && size->size() == 1 ? size->front() : Dim()});
}

std::vector<RtValue> mel_weight_matrix(const Node& node, const Inputs& in, ExecContext& context) {
  const std::int64_t bands = integer_at(in, 0), length = integer_at(in, 1), rate = integer_at(in, 2);
  const auto mel = [](double hertz) { return 2595.0 * std::log10(1.0 + hertz / 700.0); };
  const double low = mel(in[3].tensor().item<double>()), high = mel(in[4].tensor().item<double>());
  const double step = (high - low) / static_cast<double>(bands + 2);
  const auto bin_of = [&](std::int64_t i) {
    const double hertz = 700.0 * (std::pow(10.0, (static_cast<double>(i) * step + low) / 2595.0) - 1.0);
    return static_cast<std::int64_t>(std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate)));
  };
  const std::int64_t bins = length / 2 + 1;
  at::Tensor weights = at::zeros({bins, bands}, at::kDouble);
  auto at = weights.accessor<double, 2>();
  for (std::int64_t band = 0; band < bands; ++band) {
    const std::int64_t left = bin_of(band), centre = bin_of(band + 1), right = bin_of(band + 2);
    QUENCH_CHECK(left >= 0 && right <= bins, "the band edges lie outside the spectrum of ", bins, " bins");
    if (centre == left && centre < bins) at[centre][band] = 1.0;
    for (std::int64_t i = left; centre > left && i <= centre && i < bins; ++i)
      at[i][band] = static_cast<double>(i - left) / static_cast<double>(centre - left);
    for (std::int64_t i = centre; i < right; ++i)
      at[i][band] = static_cast<double>(right - i) / static_cast<double>(right - centre);
  }
  return {convert(RtValue(weights.to(context.device())), output_dtype(node))};
}

void mel_shape(Node& node) {
  const auto bands = input_integer(node, 0), length = input_integer(node, 1);
  set_type(node, 0, output_dtype(node), Dims{length ? Dim(*length / 2 + 1) : Dim(), bands ? Dim(*bands) : Dim()});
}

}  // namespace

QUENCH_REGISTER_OP("DFT", dft, dft_shape, reads_on_host({1, 2}), "discrete Fourier transform")
QUENCH_REGISTER_OP("STFT", stft, stft_shape, reads_on_host({1, 3}), "Fourier transform of windowed frames")
QUENCH_REGISTER_OP("HannWindow", hann, window_shape, reads_on_host({0}), "Hann window")
QUENCH_REGISTER_OP("HammingWindow", hamming, window_shape, reads_on_host({0}), "Hamming window")
QUENCH_REGISTER_OP("BlackmanWindow", blackman, window_shape, reads_on_host({0}), "Blackman window")
QUENCH_REGISTER_OP("MelWeightMatrix", mel_weight_matrix, mel_shape, reads_on_host({0, 1, 2, 3, 4}), "mel filter bank")

}  // namespace quench
