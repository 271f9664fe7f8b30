// Ways back from windows to the image: MaxUnpool and Col2Im.
#include <ATen/ATen.h>

#include <functional>
#include <numeric>

#include "ops/arguments.h"
#include "ops/moving.h"
#include "ops/number_rules.h"
#include "ops/number_types.h"
#include "ops/shape_rules.h"
#include "ops/window.h"
#include "quench/error.h"

namespace quench {
namespace {

using Ints = std::vector<std::int64_t>;

Ints unpooled_shape(const Node& node, const at::Tensor& x) {
  const Window window = window_of(node);
  Ints shape{x.size(0), x.size(1)};
  const Ints sizes = spatial_sizes(x);
  QUENCH_CHECK(sizes.size() == window.kernel.size(), node.where(), ": a kernel of rank ", window.kernel.size(),
               " on data with ", sizes.size(), " spatial dims");
  for (std::size_t i = 0; i < sizes.size(); ++i)
    shape.push_back((sizes[i] - 1) * window.strides[i] + window.kernel[i] - window.begin[i] - window.end[i]);
  return shape;
}

// Indices lie in the natural shape; a larger output_shape holds it in its first corner.
std::vector<RtValue> max_unpool(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor& x = in[0].tensor();
  const Ints shape = unpooled_shape(node, x);
  const std::int64_t count = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  at::Tensor y = at::zeros({count}, x.options()).scatter(0, in[1].tensor().reshape({-1}), x.reshape({-1}));
  y = y.reshape(shape);
  if (!given(in, 2)) return {y};
  const Ints wanted = integers_at(in, 2);
  QUENCH_CHECK(wanted.size() == shape.size(), node.where(), ": output_shape must have ", shape.size(),
               " elements, it has ", wanted.size());
  Ints pads;
  for (std::size_t i = shape.size(); i-- > 0;) {
    pads.push_back(0);
    pads.push_back(wanted[i] - shape[i]);
  }
  return {at::constant_pad_nd(y, pads, 0)};
}

void max_unpool_shapes(Node& node) {
  std::optional<Dims> dims = input_dims(node, 0);
  if (node.input(2)) {
    const std::optional<Dims> wanted = input_contents(node, 2);
    return set_type(node, 0, input_dtype(node, 0), wanted ? wanted : dims ? std::optional(Dims(dims->size())) : dims);
  }
  const Window window = window_of(node);
  for (std::size_t i = 0; dims && i < window.kernel.size() && i + 2 < dims->size(); ++i) {
    Dim& dim = (*dims)[i + 2];
    const std::int64_t rest = window.kernel[i] - window.begin[i] - window.end[i];
    if (dim.is_number())
      dim = Dim((dim.number() - 1) * window.strides[i] + rest);
    else
      dim = rest == window.strides[i] ? dim * Dim(rest) : Dim();
  }
  set_type(node, 0, input_dtype(node, 0), dims);
}

// Columns [N, C * block, L] laid over each other: a transposed convolution whose kernel puts each row of a
// column at its own place in the block.
at::Tensor image_of_columns(const Node& node, const at::Tensor& x, const Ints& image, const Ints& block) {
  Window window = window_of(node, block);
  const std::size_t rank = block.size();
  QUENCH_CHECK(rank == image.size() && rank <= 3, node.where(), ": image and block must have the same rank of 1 to 3, ",
               "not ", image.size(), " and ", rank);
  const std::int64_t elements = std::accumulate(block.begin(), block.end(), std::int64_t{1}, std::multiplies<>());
  QUENCH_CHECK(x.dim() == 3 && elements > 0 && x.size(1) % elements == 0, node.where(), ": data must be [N, C * ",
               elements, ", L]");
  Ints positions{-1, elements}, kernel{elements, 1}, none(rank, 0), begin, end;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t count = window.output_size(i, image[i]);
    positions.push_back(count);
    kernel.push_back(block[i]);
    begin.push_back(-window.begin[i]);
    end.push_back(image[i] + window.begin[i] - ((count - 1) * window.strides[i] + window.extent(i)));
  }
  const at::Tensor weight = at::eye(elements, x.options()).reshape(kernel);
  const at::Tensor full = at::convolution(x.reshape(positions), weight, std::nullopt, window.strides, none,
                                          window.dilations, true, none, 1);
  Ints shape{x.size(0), x.size(1) / elements};
  shape.insert(shape.end(), image.begin(), image.end());
  return pad_spatial(full, begin, end, 0.0).reshape(shape);
}

std::vector<RtValue> col2im(const Node& node, const Inputs& in, ExecContext&) {
  const Ints image = integers_at(in, 1), block = integers_at(in, 2);
  return {in_floats(in[0].tensor(), [&](const at::Tensor& x) { return image_of_columns(node, x, image, block); })};
}

void col2im_shapes(Node& node) {
  const std::optional<Dims> x = input_dims(node, 0), image = input_contents(node, 1), block = input_contents(node, 2);
  const auto rank = input_count(node, 1);
  std::optional<Dims> y;
  if (x && x->size() == 3 && rank) {
    y = unknown_dims(2 + *rank);
    (*y)[0] = (*x)[0];
    if (block) (*y)[1] = divide_exactly((*x)[1], product(*block, 0, block->size()));
    if (image && image->size() == *rank) std::copy(image->begin(), image->end(), y->begin() + 2);
  }
  set_type(node, 0, input_dtype(node, 0), y);
}

OpTraits col2im_traits() {
  OpTraits traits;
  traits.keeps_sign = true;
  traits.host_slots = {1, 2};
  return traits;
}

}  // namespace

QUENCH_REGISTER_OP("MaxUnpool", max_unpool, max_unpool_shapes, moving({2}), "puts maxima back to where they were")
QUENCH_REGISTER_OP("Col2Im", col2im, col2im_shapes, col2im_traits(), "sums columns of blocks into an image")

}  // namespace quench
