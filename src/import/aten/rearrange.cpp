// Operators that move elements: repeat_interleave, pixel_unshuffle, diagonal, grid_sampler, col2im.
#include <ATen/ATen.h>

#include <numeric>

#include "import/aten/sizes.h"
#include "quench/error.h"

namespace quench {
namespace {

using Ints = std::vector<std::int64_t>;

Value& self(const AtenCall& call) { return call.tensor("self"); }

// Repeats each element: along a new axis after its own, which is then merged.
Values map_repeat_interleave(AtenCall& call) {
  QUENCH_CHECK(!call.has("repeats") || !std::holds_alternative<Value*>(call.args.at("repeats")), call.where(),
               ": different numbers of repeats for different elements have no counterpart");
  const std::int64_t repeats = call.integer("repeats");
  Value* x = &self(call);
  if (!call.has("dim")) x = &call.aux("Reshape", {x, &call.integers_constant({-1})});
  const int axis = call.has("dim") ? call.axis("dim", x->rank()) : 0;
  std::vector<AtenInt> sizes = call.sizes_of(*x);
  Value& wide = call.aux("Unsqueeze", {x, &call.integers_constant({axis + 1})});
  Ints tiles(static_cast<std::size_t>(x->rank()) + 1, 1);
  tiles[static_cast<std::size_t>(axis) + 1] = repeats;
  Value& tiled = call.aux("Tile", {&wide, &call.integers_constant(tiles)});
  sizes[static_cast<std::size_t>(axis)] = AtenInt(-1);
  return {&call.make("Reshape", {&tiled, &call.shape_value(sizes)})};
}

// [N, C, H r, W r] -> [N, C r r, H, W], the channel before the place in the square.
Values map_pixel_unshuffle(AtenCall& call) {
  Value& x = self(call);
  QUENCH_CHECK(x.rank() == 4, call.where(), ": only batches of images are supported");
  const std::int64_t r = call.integer("downscale_factor");
  QUENCH_CHECK(r > 0, call.where(), ": a factor of ", r);
  const std::int64_t c = fixed_size(call, x, 1), h = fixed_size(call, x, 2) / r, w = fixed_size(call, x, 3) / r;
  Value& split = call.aux("Reshape", {&x, &call.integers_constant({-1, c, h, r, w, r})});
  Value& turned = call.transpose(split, {0, 1, 3, 5, 2, 4});
  return {&call.make("Reshape", {&turned, &call.integers_constant({-1, c * r * r, h, w})})};
}

// Groups of channels swap places with the channels in them.
Values map_channel_shuffle(AtenCall& call) {
  Value& x = self(call);
  QUENCH_CHECK(x.rank() == 4, call.where(), ": only batches of images are supported");
  const std::int64_t groups = call.integer("groups"), channels = fixed_size(call, x, 1);
  QUENCH_CHECK(groups > 0 && channels % groups == 0, call.where(), ": ", channels, " channels in ", groups, " groups");
  const std::vector<AtenInt> sizes = call.sizes_of(x);
  Value& split =
      call.aux("Reshape", {&x, &call.shape_value({sizes[0], groups, channels / groups, sizes[2], sizes[3]})});
  return {&call.make("Reshape", {&call.transpose(split, {0, 2, 1, 3, 4}), &call.shape_value(sizes)})};
}

// Row and column axes go last; x[..., i, i + offset] at positions along both.
Values map_diagonal(AtenCall& call) {
  Value& x = self(call);
  const int rank = x.rank(), row = call.axis("dim1", rank, 0), column = call.axis("dim2", rank, 1);
  QUENCH_CHECK(row != column, call.where(), ": the same axis twice");
  const std::int64_t offset = call.integer("offset", 0);
  const std::int64_t down = std::max<std::int64_t>(-offset, 0), across = std::max<std::int64_t>(offset, 0);
  const std::int64_t length =
      std::max<std::int64_t>(std::min(fixed_size(call, x, row) - down, fixed_size(call, x, column) - across), 0);
  Ints perm{row, column};
  for (int axis = 0; axis < rank; ++axis)
    if (axis != row && axis != column) perm.push_back(axis);
  const at::Tensor steps = at::arange(length, at::kLong);
  Value& positions = call.constant(at::stack({steps + down, steps + across}, 1));
  Value& read = call.aux("GatherND", {&call.transpose(x, perm), &positions});
  Ints back(static_cast<std::size_t>(rank) - 1);  // the diagonal goes last
  std::iota(back.begin(), back.end(), 1);
  back.back() = 0;
  return {&call.make("Transpose", {&read}, {{"perm", back}})};
}

Values map_grid_sampler(AtenCall& call) {
  static const std::vector<std::string> kModes = {"linear", "nearest", "cubic"};
  static const std::vector<std::string> kPaddings = {"zeros", "border", "reflection"};
  const auto choice = [&](const std::vector<std::string>& names, const char* arg) {
    const std::int64_t number = call.integer(arg);
    QUENCH_CHECK(number >= 0 && number < static_cast<std::int64_t>(names.size()), call.where(), ": ", arg, " ", number);
    return names[static_cast<std::size_t>(number)];
  };
  return {&call.make("GridSample", {&call.tensor("input"), &call.tensor("grid")},
                     {{"mode", choice(kModes, "interpolation_mode")},
                      {"padding_mode", choice(kPaddings, "padding_mode")},
                      {"align_corners", std::int64_t{call.flag("align_corners")}}})};
}

Values map_col2im(AtenCall& call) {
  Ints pads = call.integers("padding");
  const Ints ends = pads;
  pads.insert(pads.end(), ends.begin(), ends.end());
  return {&call.make("Col2Im",
                     {&self(call), &call.shape_value(call.dim_integers("output_size")),
                      &call.integers_constant(call.integers("kernel_size"))},
                     {{"dilations", call.integers("dilation")}, {"pads", pads}, {"strides", call.integers("stride")}})};
}

// The memory of x, read with other strides. Adaptive pooling decomposes into a mean and this, which only says how
// the dims of 1 lie: a mean has just been computed, so that its elements lie in order.
Values map_as_strided(AtenCall& call) {
  Value& x = self(call);
  const std::vector<AtenInt> sizes = call.dim_integers("size");
  const Ints strides = call.integers("stride");
  bool same = x.producer() && x.producer()->op() == "ReduceMean" && static_cast<int>(sizes.size()) == x.rank() &&
              strides.size() == sizes.size() && call.integer("storage_offset", 0) == 0;
  std::int64_t step = 1;
  for (std::size_t i = sizes.size(); same && i-- > 0;) {
    const Dim& dim = x.dims()[i];
    same = sizes[i].dim.certainly_equal(dim) && (strides[i] == step || dim == Dim(1));
    if (dim.is_number())
      step *= dim.number();
    else
      same = same && i == 0;
  }
  QUENCH_CHECK(same, call.where(), ": reading memory with arbitrary strides has no counterpart");
  return {&x};
}

}  // namespace

QUENCH_REGISTER_ATEN("repeat_interleave", map_repeat_interleave, "Unsqueeze, Tile, Reshape")
QUENCH_REGISTER_ATEN("pixel_unshuffle", map_pixel_unshuffle, "Reshape, Transpose")
QUENCH_REGISTER_ATEN("channel_shuffle", map_channel_shuffle, "Reshape, Transpose")
QUENCH_REGISTER_ATEN("native_channel_shuffle", map_channel_shuffle, "Reshape, Transpose")
QUENCH_REGISTER_ATEN("diagonal", map_diagonal, "Transpose, GatherND")
QUENCH_REGISTER_ATEN("grid_sampler", map_grid_sampler, "GridSample")
QUENCH_REGISTER_ATEN("grid_sampler_2d", map_grid_sampler, "GridSample")
QUENCH_REGISTER_ATEN("grid_sampler_3d", map_grid_sampler, "GridSample")
QUENCH_REGISTER_ATEN("as_strided", map_as_strided, "the identity")
QUENCH_REGISTER_ATEN("col2im", map_col2im, "Col2Im")

}  // namespace quench
