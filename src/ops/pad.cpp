// Pad: adds borders to a tensor (or, with negative numbers, removes them).
#include <ATen/ATen.h>

#include "graph/tensor_types.h"
#include "ops/shape_rules.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

using Sizes = std::vector<std::int64_t>;

// What the modes other than "constant" add is the input's own.
bool adds_nothing_but_zeros(const Node& pad) {
  if (pad.get_string("mode", "constant") != "constant") return true;
  const Value* fill = pad.input(2);
  return !fill || (fill->is_constant() && fill->tensor().eq(0).all().item<bool>());
}

OpTraits pad_traits() {
  OpTraits traits;
  traits.keeps_sign = true;
  traits.moves_codes = adds_nothing_but_zeros;
  traits.host_slots = {1, 2, 3};
  return traits;
}

struct Border {
  std::int64_t before = 0, after = 0;
};

// Per dim of the input.
std::vector<Border> borders_of(const Node& node, int rank, const Sizes& pads, const std::optional<Sizes>& axes) {
  std::vector<Border> borders(static_cast<std::size_t>(rank));
  const std::size_t count = axes ? axes->size() : borders.size();
  QUENCH_CHECK(pads.size() == 2 * count, node.where(), ": pads has ", pads.size(), " numbers, expected ", 2 * count);
  for (std::size_t i = 0; i < count; ++i) {
    const int axis = normalize_axis(axes ? (*axes)[i] : static_cast<std::int64_t>(i), rank, node);
    for (const std::int64_t pad : {pads[i], pads[i + count]})
      QUENCH_CHECK(pad >= -kLargestDim && pad <= kLargestDim, node.where(), ": a border of ", pad,
                   " is larger than any tensor");
    borders[static_cast<std::size_t>(axis)] = {pads[i], pads[i + count]};
  }
  return borders;
}

// Which element of 0..size-1 belongs at a place that may lie outside.
std::int64_t source_of(const std::string& mode, std::int64_t place, std::int64_t size) {
  const auto modulo = [](std::int64_t a, std::int64_t b) { return ((a % b) + b) % b; };
  if (mode == "edge") return std::clamp<std::int64_t>(place, 0, size - 1);
  if (mode == "wrap") return modulo(place, size);
  if (size == 1) return 0;
  const std::int64_t period = 2 * (size - 1), at = modulo(place, period);
  return at < size ? at : period - at;
}

at::Tensor pad_by_index(const at::Tensor& x, const std::string& mode, const std::vector<Border>& borders) {
  at::Tensor result = x;
  for (std::size_t i = 0; i < borders.size(); ++i) {
    const auto axis = static_cast<std::int64_t>(i);
    const Border border = borders[i];
    if (border.before == 0 && border.after == 0) continue;
    const std::int64_t size = x.size(axis);
    QUENCH_CHECK(size > 0, "cannot pad axis ", axis, " by mode ", mode, ": it is empty");
    Sizes sources;
    for (std::int64_t place = -border.before; place < size + border.after; ++place)
      sources.push_back(source_of(mode, place, size));
    result = result.index_select(axis, integer_tensor(sources).to(x.device()));
  }
  return result;
}

std::vector<RtValue> pad(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor& x = in[0].tensor();
  const auto given = [&](std::size_t slot) { return slot < in.size() && !in[slot].is_none(); };
  std::optional<Sizes> axes;
  if (given(3)) axes = integers_of(in[3].tensor());
  const auto borders = borders_of(node, static_cast<int>(x.dim()), integers_of(in[1].tensor()), axes);
  const std::string mode = node.get_string("mode", "constant");
  if (mode != "constant") {
    QUENCH_CHECK(mode == "reflect" || mode == "edge" || mode == "wrap",
                 "mode must be constant, reflect, edge or wrap, not '", mode, "'");
    return {RtValue(pad_by_index(x, mode, borders), in[0].dtype())};
  }
  Sizes last_first;
  for (auto border = borders.rbegin(); border != borders.rend(); ++border) {
    last_first.push_back(border->before);
    last_first.push_back(border->after);
  }
  const at::Scalar value = given(2) && in[2].tensor().numel() > 0 ? in[2].tensor().reshape({-1})[0].item() : 0;
  return {RtValue(at::constant_pad_nd(x, last_first, value), in[0].dtype())};
}

void pad_shape(Node& node) {
  const auto dims = input_dims(node, 0);
  const auto pads = input_integers(node, 1), axes = input_integers(node, 3);
  if (!dims) return set_type(node, 0, input_dtype(node, 0), std::nullopt);
  if (!pads || (node.input(3) && !axes)) return set_type(node, 0, input_dtype(node, 0), unknown_dims(dims->size()));
  Dims result;
  const auto borders = borders_of(node, static_cast<int>(dims->size()), *pads, axes);
  for (std::size_t i = 0; i < borders.size(); ++i) {
    const std::int64_t added = borders[i].before + borders[i].after;
    const Dim& dim = (*dims)[i];
    result.push_back(dim.is_number() ? Dim(dim.number() + added) : added == 0 ? dim : Dim());
  }
  set_type(node, 0, input_dtype(node, 0), result);
}

}  // namespace

QUENCH_REGISTER_OP("Pad", pad, pad_shape, pad_traits(), "adds borders: constant, reflect, edge or wrap")

}  // namespace quench
