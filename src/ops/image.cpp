// Operators on images: sampling by a grid, rearranging of depth and space, cropping to the centre.
#include <ATen/ATen.h>

#include <numeric>

#include "core/joined.h"
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

// The place of a name in a list, which is also LibTorch's number for it.
std::int64_t number_of(const Node& node, const char* attr, const std::string& name,
                       const std::vector<std::string>& known) {
  for (std::size_t i = 0; i < known.size(); ++i)
    if (known[i] == name) return static_cast<std::int64_t>(i);
  fail(node.where(), ": unknown ", attr, " '", name, "'; known: ", joined(known));
}

std::vector<RtValue> grid_sample(const Node& node, const Inputs& in, ExecContext&) {
  const std::int64_t mode = number_of(node, "mode", node.get_string("mode", "linear"), {"linear", "nearest", "cubic"});
  const std::int64_t padding =
      number_of(node, "padding_mode", node.get_string("padding_mode", "zeros"), {"zeros", "border", "reflection"});
  return {in_floats(in[0].tensor(), [&](const at::Tensor& x) {
    const at::Tensor grid = in[1].tensor().to(x.scalar_type());
    return at::grid_sampler(x, grid, mode, padding, node.get_int("align_corners", 0) != 0);
  })};
}

void grid_sample_shapes(Node& node) {
  const std::optional<Dims> x = input_dims(node, 0), grid = input_dims(node, 1);
  std::optional<Dims> y;
  if (x && grid && x->size() == grid->size() && x->size() > 2) {
    y = *x;
    for (std::size_t i = 2; i < y->size(); ++i) (*y)[i] = (*grid)[i - 1];
  }
  set_type(node, 0, input_dtype(node, 0), y);
}

std::vector<RtValue> affine_grid(const Node& node, const Inputs& in, ExecContext&) {
  return {at::affine_grid_generator(in[0].tensor(), integers_at(in, 1), node.get_int("align_corners", 0) != 0)};
}

void affine_grid_shapes(Node& node) {
  const std::optional<Dims> size = input_contents(node, 1);
  std::optional<Dims> y;
  const std::optional<Dims> theta = input_dims(node, 0);
  const auto rank = input_count(node, 1);
  if (!size && rank && *rank > 2) {
    y = unknown_dims(*rank);
    if (theta && !theta->empty()) y->front() = theta->front();
    y->back() = Dim(static_cast<std::int64_t>(*rank) - 2);
  }
  if (size && size->size() > 2) {
    y = Dims{(*size)[0]};
    y->insert(y->end(), size->begin() + 2, size->end());
    y->emplace_back(static_cast<std::int64_t>(size->size()) - 2);
  }
  set_type(node, 0, input_dtype(node, 0), y);
}

std::vector<RtValue> depth_to_space(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor& x = in[0].tensor();
  const std::int64_t b = node.require_int("blocksize");
  QUENCH_CHECK(x.dim() == 4 && b > 0 && x.size(1) % (b * b) == 0, node.where(), ": ", x.dim() == 4 ? x.size(1) : 0,
               " channels do not split into blocks of ", b, " by ", b);
  const std::int64_t n = x.size(0), c = x.size(1) / (b * b), h = x.size(2), w = x.size(3);
  if (node.get_string("mode", "DCR") == "CRD")
    return {from_movable(at::pixel_shuffle(as_movable(x), b), x.scalar_type())};
  return {x.reshape({n, b, b, c, h, w}).permute({0, 3, 4, 1, 5, 2}).reshape({n, c, h * b, w * b})};
}

std::vector<RtValue> space_to_depth(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor& x = in[0].tensor();
  const std::int64_t b = node.require_int("blocksize");
  QUENCH_CHECK(x.dim() == 4 && b > 0 && x.size(2) % b == 0 && x.size(3) % b == 0, node.where(),
               ": height and width must be multiples of ", b);
  const std::int64_t n = x.size(0), c = x.size(1), h = x.size(2) / b, w = x.size(3) / b;
  return {x.reshape({n, c, h, b, w, b}).permute({0, 3, 5, 1, 2, 4}).reshape({n, c * b * b, h, w})};
}

void block_shapes(Node& node) {
  std::optional<Dims> dims = input_dims(node, 0);
  const Dim b(node.require_int("blocksize"));
  const bool to_space = node.op() == "DepthToSpace";
  if (dims && dims->size() == 4) {
    (*dims)[1] = to_space ? divide_exactly((*dims)[1], b * b) : (*dims)[1] * b * b;
    for (std::size_t i = 2; i < 4; ++i) (*dims)[i] = to_space ? (*dims)[i] * b : divide_exactly((*dims)[i], b);
  }
  set_type(node, 0, input_dtype(node, 0), dims);
}

Ints crop_axes(const Node& node, std::size_t rank) {
  Ints axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  axes = node.get_ints("axes", axes);
  for (std::int64_t& axis : axes) axis = normalize_axis(axis, static_cast<int>(rank), node);
  return axes;
}

// The odd element is cropped, or added, at the end.
std::vector<RtValue> center_crop_pad(const Node& node, const Inputs& in, ExecContext&) {
  at::Tensor x = in[0].tensor();
  const Ints axes = crop_axes(node, static_cast<std::size_t>(x.dim())), wanted = integers_at(in, 1);
  QUENCH_CHECK(axes.size() == wanted.size(), node.where(), ": ", wanted.size(), " sizes for ", axes.size(), " axes");
  Ints pads(static_cast<std::size_t>(2 * x.dim()), 0);  // last dim first
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t axis = axes[i], more = wanted[i] - x.size(axis);
    if (more < 0) x = x.narrow(axis, -more / 2, wanted[i]);
    const auto at = static_cast<std::size_t>(2 * (x.dim() - 1 - axis));
    pads[at] = std::max<std::int64_t>(more, 0) / 2;
    pads[at + 1] = std::max<std::int64_t>(more, 0) - pads[at];
  }
  return {at::constant_pad_nd(x, pads, 0)};
}

void center_crop_pad_shapes(Node& node) {
  std::optional<Dims> dims = input_dims(node, 0);
  const std::optional<Dims> wanted = input_contents(node, 1);
  if (dims) {
    const Ints axes = crop_axes(node, dims->size());
    for (std::size_t i = 0; i < axes.size(); ++i)
      (*dims)[static_cast<std::size_t>(axes[i])] = wanted && i < wanted->size() ? (*wanted)[i] : Dim();
  }
  set_type(node, 0, input_dtype(node, 0), dims);
}

OpTraits host_traits(std::vector<int> host_slots) {
  OpTraits traits;
  traits.host_slots = std::move(host_slots);
  return traits;
}

}  // namespace

QUENCH_REGISTER_OP("GridSample", grid_sample, grid_sample_shapes, OpTraits{},
                   "samples an image at the points of a grid")
QUENCH_REGISTER_OP("AffineGrid", affine_grid, affine_grid_shapes, host_traits({1}),
                   "a grid, turned and moved by a matrix")
QUENCH_REGISTER_OP("DepthToSpace", depth_to_space, block_shapes, moving(), "channels to blocks of pixels")
QUENCH_REGISTER_OP("SpaceToDepth", space_to_depth, block_shapes, moving(), "blocks of pixels to channels")
QUENCH_REGISTER_OP("CenterCropPad", center_crop_pad, center_crop_pad_shapes, moving({1}),
                   "crops or pads to given dims about the centre")

}  // namespace quench
