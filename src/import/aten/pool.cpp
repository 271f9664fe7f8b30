// Pooling of LibTorch -> MaxPool, AveragePool, GlobalAveragePool, GlobalMaxPool; MatMul where windows vary.
#include <ATen/ATen.h>

#include <algorithm>

#include "graph/tensor_types.h"
#include "import/aten/aten.h"
#include "quench/error.h"

namespace quench {
namespace {

using Ints = std::vector<std::int64_t>;

Value& pooled_input(const AtenCall& call) { return call.tensor(call.args.contains("self") ? "self" : "input"); }

// "max_pool2d_with_indices" -> 2
std::size_t spatial_dims(const AtenCall& call) {
  const std::size_t digit = call.kind().find_first_of("123");
  return static_cast<std::size_t>(call.kind().at(digit) - '0');
}

Ints spread(Ints numbers, std::size_t count, const Ints& fallback) {
  if (numbers.empty()) return fallback;
  return numbers.size() == 1 ? Ints(count, numbers[0]) : numbers;
}

Attrs window_attrs(const AtenCall& call) {
  const std::size_t spatial = spatial_dims(call);
  const Ints kernel = spread(call.integers("kernel_size"), spatial, {});
  Ints pads = spread(call.integers("padding"), spatial, Ints(spatial, 0));
  pads.insert(pads.end(), pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(spatial));
  return {{"kernel_shape", kernel},
          {"strides", spread(call.integers("stride"), spatial, kernel)},
          {"pads", pads},
          {"ceil_mode", std::int64_t{call.flag("ceil_mode")}}};
}

void check_batched(const AtenCall& call) {
  QUENCH_CHECK(pooled_input(call).rank() == static_cast<int>(spatial_dims(call)) + 2, call.where(),
               ": the input must have a batch dimension");
}

Values map_max_pool(AtenCall& call) {
  check_batched(call);
  Attrs attrs = window_attrs(call);
  attrs["dilations"] = spread(call.integers("dilation"), spatial_dims(call), Ints(spatial_dims(call), 1));
  Value& result = call.make("MaxPool", {&pooled_input(call)}, attrs);
  return {&result, nullptr};  // the positions count differently in ONNX
}

Values map_avg_pool(AtenCall& call) {
  check_batched(call);
  QUENCH_CHECK(!call.has("divisor_override"), call.where(), ": divisor_override has no counterpart");
  Attrs attrs = window_attrs(call);
  attrs["count_include_pad"] = std::int64_t{call.flag("count_include_pad", true)};
  return {&call.make("AveragePool", {&pooled_input(call)}, attrs)};
}

// Means over windows of different sizes, window i from floor(i n / m) to ceil((i + 1) n / m): a product with the matrix
// [n, m] of their weights. An element that is not finite makes all windows of its row and column NaN, where LibTorch
// has it in its own windows only: 0 * inf is NaN.
at::Tensor window_means(std::int64_t n, std::int64_t m) {
  at::Tensor weights = at::zeros({n, m});
  for (std::int64_t i = 0; i < m; ++i) {
    const std::int64_t begin = i * n / m, end = ((i + 1) * n + m - 1) / m;
    weights.narrow(0, begin, end - begin).select(1, i).fill_(1.0 / static_cast<double>(end - begin));
  }
  return weights;
}

Value& window_weights(AtenCall& call, const Dim& dim, std::int64_t size) {
  QUENCH_CHECK(dim.is_number() && size > 0, call.where(), ": from size ", dim.text(), " to ", size,
               " needs windows that vary, which have no counterpart");
  return call.constant(window_means(dim.number(), size).to(scalar_type_of(call.dtype())));
}

Value& uneven_average(AtenCall& call, Value& x, const Ints& sizes) {
  QUENCH_CHECK(sizes.size() <= 2, call.where(), ": windows of different sizes in ", sizes.size(),
               " dims have no counterpart");
  const Dims& dims = x.dims();
  Value& across = call.make("MatMul", {&x, &window_weights(call, dims.back(), sizes.back())});
  if (sizes.size() == 1) return across;
  Value& down = call.transpose(window_weights(call, dims[2], sizes[0]), {1, 0});
  return call.make("MatMul", {&down, &across});
}

bool divides(const Value& x, const Ints& sizes) {
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Dim& dim = x.dims()[i + 2];
    if (!dim.is_number() || sizes[i] <= 0 || dim.number() % sizes[i] != 0) return false;
  }
  return true;
}

// Windows of one size that do not overlap, where the sizes divide.
Values map_adaptive_pool(AtenCall& call) {
  check_batched(call);
  const bool average = call.kind().find("avg") != std::string::npos;
  Value& x = pooled_input(call);
  const Ints sizes = call.integers("output_size");
  if (std::all_of(sizes.begin(), sizes.end(), [](std::int64_t size) { return size == 1; })) {
    return {&call.make(average ? "GlobalAveragePool" : "GlobalMaxPool", {&x}), nullptr};
  }
  if (average && !divides(x, sizes)) return {&uneven_average(call, x, sizes)};
  Ints kernel;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Dim& dim = x.dims()[i + 2];
    QUENCH_CHECK(dim.is_number() && sizes[i] > 0 && dim.number() % sizes[i] == 0, call.where(), ": from size ",
                 dim.text(), " to ", sizes[i], " needs windows of different sizes, which have no counterpart");
    kernel.push_back(dim.number() / sizes[i]);
  }
  return {&call.make(average ? "AveragePool" : "MaxPool", {&x}, {{"kernel_shape", kernel}, {"strides", kernel}}),
          nullptr};
}

}  // namespace

QUENCH_REGISTER_ATEN("max_pool1d", map_max_pool, "MaxPool")
QUENCH_REGISTER_ATEN("max_pool2d", map_max_pool, "MaxPool")
QUENCH_REGISTER_ATEN("max_pool3d", map_max_pool, "MaxPool")
QUENCH_REGISTER_ATEN("max_pool1d_with_indices", map_max_pool, "MaxPool")
QUENCH_REGISTER_ATEN("max_pool2d_with_indices", map_max_pool, "MaxPool")
QUENCH_REGISTER_ATEN("max_pool3d_with_indices", map_max_pool, "MaxPool")
QUENCH_REGISTER_ATEN("avg_pool1d", map_avg_pool, "AveragePool")
QUENCH_REGISTER_ATEN("avg_pool2d", map_avg_pool, "AveragePool")
QUENCH_REGISTER_ATEN("avg_pool3d", map_avg_pool, "AveragePool")
QUENCH_REGISTER_ATEN("adaptive_avg_pool1d", map_adaptive_pool, "GlobalAveragePool, AveragePool, MatMul")
QUENCH_REGISTER_ATEN("adaptive_avg_pool2d", map_adaptive_pool, "GlobalAveragePool, AveragePool, MatMul")
QUENCH_REGISTER_ATEN("adaptive_avg_pool3d", map_adaptive_pool, "GlobalAveragePool, AveragePool")
QUENCH_REGISTER_ATEN("_adaptive_avg_pool2d", map_adaptive_pool, "GlobalAveragePool, AveragePool, MatMul")
QUENCH_REGISTER_ATEN("_adaptive_avg_pool3d", map_adaptive_pool, "GlobalAveragePool, AveragePool")
QUENCH_REGISTER_ATEN("adaptive_max_pool1d", map_adaptive_pool, "GlobalMaxPool, MaxPool")
QUENCH_REGISTER_ATEN("adaptive_max_pool2d", map_adaptive_pool, "GlobalMaxPool, MaxPool")
QUENCH_REGISTER_ATEN("adaptive_max_pool3d", map_adaptive_pool, "GlobalMaxPool, MaxPool")

}  // namespace quench
