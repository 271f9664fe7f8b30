// Concat, Split, Slice, Tile: cutting tensors up along axes and joining them.
#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

#include "graph/tensor_types.h"
#include "ops/moving.h"
#include "ops/number_rules.h"
#include "ops/shape_rules.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

using Sizes = std::vector<std::int64_t>;

// The results leave each input's range, but not that of all inputs together.
OpTraits concat_traits() {
  OpTraits traits;
  traits.keeps_sign = true;
  return traits;
}

std::vector<RtValue> concat_tensors(const Node& node, const Inputs& in, ExecContext&) {
  std::vector<at::Tensor> parts;
  for (const RtValue& part : in) parts.push_back(part.tensor());
  QUENCH_CHECK(!parts.empty(), "there is nothing to join");
  const int axis = normalize_axis(node.require_int("axis"), static_cast<int>(parts[0].dim()), node);
  // LibTorch lets an empty vector through whatever the others' rank; ONNX does not.
  for (const at::Tensor& part : parts)
    QUENCH_CHECK(part.dim() == parts[0].dim(), "the inputs have ranks ", parts[0].dim(), " and ", part.dim());
  return {RtValue(at::cat(parts, axis), in[0].dtype())};
}

void join_dims(Node& node, std::size_t axis, Dims& result, const Dims& part) {
  QUENCH_CHECK(part.size() == result.size(), node.where(), ": the inputs have ranks ", result.size(), " and ",
               part.size());
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (i == axis) {
      result[i] = add_dims(result[i], part[i]);
    } else if (!result[i].is_number()) {
      if (part[i].is_number() || !result[i].certainly_equal(part[i])) result[i] = part[i].is_number() ? part[i] : Dim();
    } else {
      QUENCH_CHECK(!part[i].is_number() || part[i].number() == result[i].number(), node.where(), ": dim ", i, " is ",
                   result[i].text(), " in one input and ", part[i].text(), " in another");
    }
  }
}

void concat_shape(Node& node) {
  std::optional<Dims> result = input_dims(node, 0);
  for (int slot = 1; result && slot < static_cast<int>(node.inputs().size()); ++slot) {
    const auto part = input_dims(node, slot);
    const int axis = normalize_axis(node.require_int("axis"), static_cast<int>(result->size()), node);
    if (!part)
      result = unknown_dims(result->size());
    else
      join_dims(node, static_cast<std::size_t>(axis), *result, *part);
  }
  set_type(node, 0, input_dtype(node, 0), result);
  Dims contents;
  for (int slot = 0; slot < static_cast<int>(node.inputs().size()); ++slot) {
    const auto part = input_contents(node, slot);
    if (!part) return;
    contents.insert(contents.end(), part->begin(), part->end());
  }
  set_contents(node, contents);
}

// Sizes of the parts: given, or as even as can be, the last one smaller.
Sizes split_sizes(const Node& node, const std::optional<Sizes>& given, std::int64_t total) {
  if (given) {
    std::int64_t rest = total;
    for (const std::int64_t size : *given) {
      QUENCH_CHECK(size >= 0 && size <= rest, node.where(), ": the split sizes do not add up to ", total);
      rest -= size;
    }
    QUENCH_CHECK(rest == 0, node.where(), ": the split sizes do not add up to ", total);
    return *given;
  }
  const auto outputs = static_cast<std::int64_t>(node.outputs().size());
  const std::int64_t count = node.get_int("num_outputs", outputs);
  QUENCH_CHECK(count > 0 && count == outputs, node.where(), ": num_outputs is ", count, ", and it has ", outputs,
               " outputs");
  const std::int64_t each = (total + count - 1) / count;
  Sizes sizes(static_cast<std::size_t>(count), each);
  sizes.back() = std::max<std::int64_t>(0, total - each * (count - 1));
  return sizes;
}

std::vector<RtValue> split(const Node& node, const Inputs& in, ExecContext&) {
  const at::Tensor& x = in[0].tensor();
  const int axis = normalize_axis(node.get_int("axis", 0), static_cast<int>(x.dim()), node);
  std::optional<Sizes> given;
  if (in.size() > 1 && !in[1].is_none()) given = integers_of(in[1].tensor());
  std::vector<RtValue> results;
  for (const at::Tensor& part : at::split_with_sizes(x, split_sizes(node, given, x.size(axis)), axis))
    results.emplace_back(part, in[0].dtype());
  return results;
}

// The elements of a part of a vector whose elements are known.
void set_part_contents(Value& part, const std::optional<Dims>& whole, const Sizes& sizes, std::size_t index) {
  if (!whole || !part.has_rank() || part.rank() != 1) return;
  auto begin = whole->begin();
  for (std::size_t i = 0; i <= index; ++i) {
    if (sizes[i] < 0 || sizes[i] > whole->end() - begin) return;
    if (i == index) part.contents = Dims(begin, begin + sizes[i]);
    begin += sizes[i];
  }
}

void split_shape(Node& node) {
  const auto dims = input_dims(node, 0);
  for (int i = 0; i < static_cast<int>(node.outputs().size()); ++i) set_type(node, i, input_dtype(node, 0), dims);
  if (!dims) return;
  const auto axis =
      static_cast<std::size_t>(normalize_axis(node.get_int("axis", 0), static_cast<int>(dims->size()), node));
  const auto given = input_integers(node, 1);
  std::optional<Sizes> sizes = given;
  if (!node.input(1) && (*dims)[axis].is_number()) sizes = split_sizes(node, std::nullopt, (*dims)[axis].number());
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    Dims part = *dims;
    part[axis] = sizes && i < sizes->size() ? Dim((*sizes)[i]) : Dim();
    set_type(node, static_cast<int>(i), input_dtype(node, 0), part);
    if (node.outputs()[i] && sizes && i < sizes->size())
      set_part_contents(*node.outputs()[i], input_contents(node, 0), *sizes, i);
  }
}

// One axis of a Slice.
struct Cut {
  std::int64_t start, end, step;
  std::int64_t count() const {
    return std::max<std::int64_t>(0, step > 0 ? (end - start + step - 1) / step : (start - end - step - 1) / -step);
  }
};

Cut clamped(Cut cut, std::int64_t size) {
  const auto wrap = [&](std::int64_t at) { return at < 0 ? at + size : at; };
  const std::int64_t low = cut.step > 0 ? 0 : -1, high = cut.step > 0 ? size : size - 1;
  return {std::clamp(wrap(cut.start), std::min<std::int64_t>(std::max<std::int64_t>(low, 0), high), high),
          std::clamp(wrap(cut.end), low, high), cut.step};
}

std::vector<std::pair<int, Cut>> cuts_of(const Node& node, int rank, const Sizes& starts, const Sizes& ends,
                                         const std::optional<Sizes>& axes, const std::optional<Sizes>& steps) {
  const std::size_t count = starts.size();
  QUENCH_CHECK(ends.size() == count && (!axes || axes->size() == count) && (!steps || steps->size() == count),
               node.where(), ": starts, ends, axes and steps must have one length");
  std::vector<std::pair<int, Cut>> cuts;
  for (std::size_t i = 0; i < count; ++i) {
    const Cut cut = {starts[i], ends[i], steps ? (*steps)[i] : 1};
    QUENCH_CHECK(cut.step != 0, node.where(), ": a step of 0");
    cuts.emplace_back(normalize_axis(axes ? (*axes)[i] : static_cast<std::int64_t>(i), rank, node), cut);
  }
  return cuts;
}

at::Tensor cut_axis(const at::Tensor& x, int axis, const Cut& wanted) {
  const Cut cut = clamped(wanted, x.size(axis));
  if (cut.step > 0) return x.slice(axis, cut.start, std::max(cut.start, cut.end), cut.step);
  // LibTorch has no negative steps: the elements, from the last to the first, then reversed.
  const std::int64_t count = cut.count();
  if (count == 0) return x.slice(axis, 0, 0);
  return x.slice(axis, cut.start + (count - 1) * cut.step, cut.start + 1, -cut.step).flip({axis});
}

std::vector<RtValue> slice(const Node& node, const Inputs& in, ExecContext&) {
  at::Tensor x = in[0].tensor();
  const auto optional = [&](std::size_t slot) {
    const bool given = slot < in.size() && !in[slot].is_none();
    return given ? std::optional(integers_of(in[slot].tensor())) : std::nullopt;
  };
  for (const auto& [axis, cut] : cuts_of(node, static_cast<int>(x.dim()), integers_of(in[1].tensor()),
                                         integers_of(in[2].tensor()), optional(3), optional(4)))
    x = cut_axis(x, axis, cut);
  return {RtValue(x, in[0].dtype())};
}

// A cut of an unknown number of elements is known only where it takes all of them.
Dim cut_dim(const Dim& dim, const Cut& cut) {
  constexpr std::int64_t kWhole = std::int64_t{1} << 31;
  if (dim.is_number()) return clamped(cut, dim.number()).count();
  const bool forwards = cut.start == 0 && cut.step == 1 && cut.end >= kWhole - 1;
  const bool backwards = cut.step == -1 && cut.end < -kWhole / 2 && (cut.start == -1 || cut.start >= kWhole - 1);
  return forwards || backwards ? dim : Dim();
}

void slice_shape(Node& node) {
  const auto dims = input_dims(node, 0);
  const auto starts = input_integers(node, 1), ends = input_integers(node, 2);
  const auto axes = input_integers(node, 3), steps = input_integers(node, 4);
  if (!dims) return set_type(node, 0, input_dtype(node, 0), std::nullopt);
  const bool known_axes = starts && (!node.input(3) || axes);
  if (!known_axes || !ends || (node.input(4) && !steps))
    return set_type(node, 0, input_dtype(node, 0), unknown_dims(dims->size()));
  Dims result = *dims;
  std::optional<Dims> contents = input_contents(node, 0);
  for (const auto& [axis, cut] : cuts_of(node, static_cast<int>(dims->size()), *starts, *ends, axes, steps)) {
    Dim& dim = result[static_cast<std::size_t>(axis)];
    dim = cut_dim(dim, cut);
    if (!contents) continue;
    const Cut exact = clamped(cut, static_cast<std::int64_t>(contents->size()));
    Dims picked;
    for (std::int64_t i = 0; i < exact.count(); ++i)
      picked.push_back((*contents)[static_cast<std::size_t>(exact.start + i * exact.step)]);
    contents = picked;
  }
  set_type(node, 0, input_dtype(node, 0), result);
  set_contents(node, contents);
}

std::vector<RtValue> tile(const Node&, const Inputs& in, ExecContext&) {
  const Sizes repeats = integers_of(in[1].tensor());
  QUENCH_CHECK(static_cast<std::int64_t>(repeats.size()) == in[0].tensor().dim(), "there are ", repeats.size(),
               " repeats for a tensor of rank ", in[0].tensor().dim());
  return {RtValue(in[0].tensor().repeat(repeats), in[0].dtype())};
}

void tile_shape(Node& node) {
  const auto dims = input_dims(node, 0), repeats = input_contents(node, 1);
  std::optional<Dims> result = dims;
  if (dims) {
    for (std::size_t i = 0; i < dims->size(); ++i)
      (*result)[i] = repeats && i < repeats->size() ? (*dims)[i] * (*repeats)[i] : Dim();
  }
  set_type(node, 0, input_dtype(node, 0), result);
}

}  // namespace

QUENCH_REGISTER_OP("Concat", concat_tensors, concat_shape, concat_traits(), "joins tensors along an axis")
QUENCH_REGISTER_OP("Split", split, split_shape, moving({1}), "cuts a tensor into parts along an axis")
QUENCH_REGISTER_OP("Slice", slice, slice_shape, moving({1, 2, 3, 4}), "from start to end by steps, per axis")
QUENCH_REGISTER_OP("Tile", tile, tile_shape, moving({1}), "repeats a tensor along each axis")

}  // namespace quench
