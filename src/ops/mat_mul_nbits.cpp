// com.microsoft.MatMulNBits: a matrix product with a weight of few bits, quantized in blocks along K, as ONNX Runtime's
// operator's documentation lays it out. A [..., K], B [N, blocks, bytes per block]: codes of `bits` bits, the lower
// ones first; scales [N * blocks]; zero points packed row by row [N * ceil(blocks * bits / 8)] or as numbers of
// A's type, else 2^(bits - 1); g_idx [K]: the block whose scale and zero point a column takes; bias [N].
#include <ATen/ATen.h>

#include "ops/arguments.h"
#include "ops/macs.h"
#include "ops/shape_rules.h"
#include "quench/error.h"

namespace quench {
namespace {

struct Layout {
  std::int64_t k, n, bits, block, blocks;
};

Layout layout_of(const Node& node) {
  Layout layout{node.require_int("K"), node.require_int("N"), node.get_int("bits", 4), node.require_int("block_size"),
                0};
  QUENCH_CHECK(layout.k > 0 && layout.n > 0, node.where(), ": K and N must be above 0");
  QUENCH_CHECK(layout.bits == 2 || layout.bits == 4 || layout.bits == 8, node.where(), ": ", layout.bits,
               " bits; 2, 4 and 8 are known");
  QUENCH_CHECK(layout.block >= 16 && (layout.block & (layout.block - 1)) == 0, node.where(), ": a block of ",
               layout.block, " is not a power of two of at least 16");
  layout.blocks = (layout.k + layout.block - 1) / layout.block;
  return layout;
}

// Bytes [rows, bytes] to codes [rows, count], lower bits first.
at::Tensor unpacked(const Node& node, const at::Tensor& bytes, std::int64_t rows, std::int64_t count,
                    std::int64_t bits) {
  const std::int64_t per_byte = 8 / bits, width = (count + per_byte - 1) / per_byte;
  QUENCH_CHECK(bytes.scalar_type() == at::kByte && bytes.numel() == rows * width, node.where(), ": the codes must be ",
               rows, " x ", width, " bytes, not ", bytes.numel(), " elements of type ", bytes.scalar_type());
  const at::Tensor wide = bytes.reshape({rows, width, 1}).to(at::kInt);
  const at::Tensor shifts = at::arange(0, 8, bits, wide.options());
  const at::Tensor codes = at::bitwise_and(at::bitwise_right_shift(wide, shifts), (1 << bits) - 1);
  return codes.reshape({rows, width * per_byte}).narrow(1, 0, count);
}

at::Tensor zero_points(const Node& node, const Inputs& in, const Layout& layout) {
  const auto shape = {layout.n, layout.blocks};
  if (!given(in, 3)) return at::full(shape, static_cast<double>(1 << (layout.bits - 1)), at::kFloat);
  const at::Tensor& given_ones = in[3].tensor();
  if (given_ones.scalar_type() == at::kByte)
    return unpacked(node, given_ones, layout.n, layout.blocks, layout.bits).to(at::kFloat);
  QUENCH_CHECK(given_ones.numel() == layout.n * layout.blocks, node.where(), ": ", given_ones.numel(),
               " zero points where ", layout.n * layout.blocks, " belong");
  return given_ones.reshape(shape).to(at::kFloat);
}

// One per block, [N, blocks], as one per column, [N, K].
at::Tensor by_column(const Node& node, const Inputs& in, const Layout& layout, const at::Tensor& by_block) {
  if (!given(in, 4)) return at::repeat_interleave(by_block, layout.block, 1).narrow(1, 0, layout.k);
  const at::Tensor block = in[4].tensor().to(at::kLong);
  QUENCH_CHECK(block.dim() == 1 && block.numel() >= layout.k, node.where(), ": g_idx names blocks for ", block.numel(),
               " columns, K is ", layout.k);
  const bool inside = block.min().item<std::int64_t>() >= 0 && block.max().item<std::int64_t>() < layout.blocks;
  QUENCH_CHECK(inside, node.where(), ": g_idx names blocks from ", block.min().item<std::int64_t>(), " to ",
               block.max().item<std::int64_t>(), "; there are ", layout.blocks);
  return by_block.index_select(1, block.narrow(0, 0, layout.k));
}

// [N, K], float.
at::Tensor weight_of(const Node& node, const Inputs& in, const Layout& layout) {
  const at::Tensor& scales = in[2].tensor();
  QUENCH_CHECK(scales.numel() == layout.n * layout.blocks, node.where(), ": ", scales.numel(), " scales where ",
               layout.n * layout.blocks, " belong");
  const at::Tensor codes = unpacked(node, in[1].tensor(), layout.n, layout.blocks * layout.block, layout.bits);
  const at::Tensor scale = scales.reshape({layout.n, layout.blocks}).to(at::kFloat);
  const at::Tensor zero = by_column(node, in, layout, zero_points(node, in, layout));
  return (codes.narrow(1, 0, layout.k).to(at::kFloat) - zero) * by_column(node, in, layout, scale);
}

std::vector<RtValue> mat_mul_nbits(const Node& node, const Inputs& in, ExecContext&) {
  const Layout layout = layout_of(node);
  const at::Tensor& a = in[0].tensor();
  QUENCH_CHECK(a.dim() >= 1 && a.size(-1) == layout.k, node.where(), ": A has rows of ", a.dim() >= 1 ? a.size(-1) : 0,
               ", K is ", layout.k);
  at::Tensor y = at::matmul(a.to(at::kFloat), weight_of(node, in, layout).t());
  if (given(in, 5)) y = y + in[5].tensor().to(at::kFloat);
  return {y.to(a.scalar_type())};
}

void mat_mul_nbits_shapes(Node& node) {
  auto dims = input_dims(node, 0);
  if (dims && !dims->empty()) dims->back() = Dim(node.require_int("N"));
  set_type(node, 0, input_dtype(node, 0), dims);
}

}  // namespace

QUENCH_REGISTER_OP("com.microsoft.MatMulNBits", mat_mul_nbits, mat_mul_nbits_shapes, with_macs(product_macs),
                   "matrix product with a weight of 2, 4 or 8 bits in blocks")

}  // namespace quench
