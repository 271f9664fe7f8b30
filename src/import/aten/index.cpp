// Joining, splitting and picking: cat, chunk, slice, select, embedding ... -> Concat, Split, Slice, Gather.
#include <ATen/ATen.h>

#include <limits>

#include "import/aten/aten.h"
#include "quench/error.h"

namespace quench {
namespace {

using Ints = std::vector<std::int64_t>;
constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();

Value& self(const AtenCall& call) { return call.tensor("self"); }
Attr axis_attr(int axis) { return std::int64_t{axis}; }

Values casted(AtenCall& call, Values values) {
  for (Value*& value : values) value = &call.cast(*value, call.dtype());
  return values;
}

Values map_cat(AtenCall& call) {
  const Values values = casted(call, call.tensors("tensors"));
  return {&call.make("Concat", values, {{"axis", axis_attr(call.axis("dim", values.at(0)->rank(), 0))}})};
}

Values map_stack(AtenCall& call) {
  Values values = casted(call, call.tensors("tensors"));
  const int axis = call.axis("dim", values.at(0)->rank() + 1, 0);
  for (Value*& value : values) value = &call.aux("Unsqueeze", {value, &call.integers_constant({axis})});
  return {&call.make("Concat", values, {{"axis", axis_attr(axis)}})};
}

// As many pieces as were recorded, with the sizes that were recorded; equal ones where the size varies.
Values split(AtenCall& call, Value& x, int axis) {
  const auto count = static_cast<int>(call.outputs.size());
  if (count == 1) return {&x};
  Ints sizes;
  for (const TypeInfo& type : call.outputs)
    if (const Dim& dim = type.dims->at(static_cast<std::size_t>(axis)); dim.is_number()) sizes.push_back(dim.number());
  Values inputs{&x};
  Attrs attrs{{"axis", axis_attr(axis)}};
  if (sizes.size() == call.outputs.size()) {
    inputs.push_back(&call.integers_constant(sizes));
  } else {
    QUENCH_CHECK(call.kind().ends_with("chunk"), call.where(), ": the sizes depend on the shape of an input");
    attrs["num_outputs"] = std::int64_t{count};
  }
  Node& node = call.make_node("Split", inputs, count, attrs);
  return {node.outputs().begin(), node.outputs().end()};
}

Values map_split(AtenCall& call) { return split(call, self(call), call.axis("dim", self(call).rank(), 0)); }

Values map_unbind(AtenCall& call) {
  Value& x = self(call);
  const int axis = call.axis("dim", x.rank(), 0);
  Values results;
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    Value& index = call.constant(at::scalar_tensor(static_cast<std::int64_t>(i), at::kLong));
    results.push_back(&call.make("Gather", {&x, &index}, {{"axis", axis_attr(axis)}}));
  }
  return results;
}

Values map_slice(AtenCall& call) {
  Value& x = self(call);
  const int axis = call.axis("dim", x.rank(), 0);
  const AtenInt start = call.has("start") ? call.dim_integer("start") : AtenInt(0);
  const AtenInt end = call.has("end") ? call.dim_integer("end") : AtenInt(kEnd);
  const std::int64_t step = call.integer("step", 1);
  const bool whole = start.is_number() && start.number == 0 && end.is_number() && end.number == kEnd && step == 1;
  if (whole) return {&x};
  return {&call.make("Slice", {&x, &call.shape_value({start}), &call.shape_value({end}),
                               &call.integers_constant({axis}), &call.integers_constant({step})})};
}

Values map_narrow(AtenCall& call) {
  Value& x = self(call);
  const int axis = call.axis("dim", x.rank());
  const AtenInt start = call.dim_integer("start"), length = call.dim_integer("length");
  QUENCH_CHECK(start.is_number() && start.number >= 0, call.where(), ": the start depends on the shape of an input");
  AtenInt end = length;
  end.number += start.number;
  if (end.is_number())
    end.dim = Dim(end.number);
  else
    end.plus += start.number;
  return {
      &call.make("Slice", {&x, &call.shape_value({start}), &call.shape_value({end}), &call.integers_constant({axis})})};
}

Values map_select(AtenCall& call) {
  Value& x = self(call);
  return {&call.make("Gather", {&x, &call.operand("index", DType::kInt64)},
                     {{"axis", axis_attr(call.axis("dim", x.rank()))}})};
}

Values map_index_select(AtenCall& call) {
  return {&call.make("Gather", {&self(call), &call.tensor("index")},
                     {{"axis", axis_attr(call.axis("dim", self(call).rank()))}})};
}

Values map_gather(AtenCall& call) {
  return {&call.make("GatherElements", {&self(call), &call.tensor("index")},
                     {{"axis", axis_attr(call.axis("dim", self(call).rank()))}})};
}

Values map_scatter(AtenCall& call) {
  Value& index = call.tensor("index");
  Value* source = call.has("src") ? &call.tensor("src") : nullptr;
  if (!source)
    source = &call.aux("Expand", {&call.operand("value", call.dtype()), &call.shape_value(call.sizes_of(index))});
  Attrs attrs{{"axis", axis_attr(call.axis("dim", self(call).rank()))}};
  if (call.kind() == "scatter_add") attrs["reduction"] = std::string("add");
  return {&call.make("ScatterElements", {&self(call), &index, source}, attrs)};
}

Values map_embedding(AtenCall& call) {
  return {&call.make("Gather", {&call.tensor("weight"), &call.tensor("indices")}, {{"axis", axis_attr(0)}})};
}

Values map_one_hot(AtenCall& call) {
  const std::int64_t depth = call.integer("num_classes");
  QUENCH_CHECK(depth > 0, call.where(), ": num_classes must be given");
  const at::Tensor off_on = at::arange(2, at::kLong);
  return {&call.make("OneHot",
                     {&self(call), &call.constant(at::scalar_tensor(depth, at::kLong)), &call.constant(off_on)},
                     {{"axis", std::int64_t{-1}}})};
}

Values map_triangle(AtenCall& call) {
  return {&call.make("Trilu", {&self(call), &call.operand("diagonal", DType::kInt64)},
                     {{"upper", std::int64_t{call.kind() == "triu"}}})};
}

// Roll along one or more axes: the end comes first.
Values map_roll(AtenCall& call) {
  const Ints shifts = call.integers("shifts"), axes = call.integers("dims");
  QUENCH_CHECK(shifts.size() == axes.size() && !axes.empty(), call.where(), ": the form without dims is not supported");
  Value* x = &self(call);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t axis = axes[i] < 0 ? axes[i] + x->rank() : axes[i];
    if (shifts[i] == 0) continue;
    Value& at = call.integers_constant({-shifts[i]});
    Value& on = call.integers_constant({axis});
    Value& tail = call.aux("Slice", {x, &at, &call.integers_constant({kEnd}), &on});
    Value& head = call.aux("Slice", {x, &call.integers_constant({0}), &at, &on});
    x = &call.make("Concat", {&tail, &head}, {{"axis", axis}});
  }
  return {x};
}

Values map_flip(AtenCall& call) {
  const Ints axes = call.axes("dims", self(call).rank());
  const Ints ones(axes.size(), -1), ends(axes.size(), std::numeric_limits<std::int64_t>::min() + 1);
  return {&call.make("Slice", {&self(call), &call.integers_constant(ones), &call.integers_constant(ends),
                               &call.integers_constant(axes), &call.integers_constant(ones)})};
}

}  // namespace

QUENCH_REGISTER_ATEN("cat", map_cat, "Concat")
QUENCH_REGISTER_ATEN("concat", map_cat, "Concat")
QUENCH_REGISTER_ATEN("stack", map_stack, "Unsqueeze, Concat")
QUENCH_REGISTER_ATEN("split", map_split, "Split")
QUENCH_REGISTER_ATEN("split_with_sizes", map_split, "Split")
QUENCH_REGISTER_ATEN("unsafe_split", map_split, "Split")
QUENCH_REGISTER_ATEN("tensor_split", map_split, "Split")
QUENCH_REGISTER_ATEN("chunk", map_split, "Split")
QUENCH_REGISTER_ATEN("unsafe_chunk", map_split, "Split")
QUENCH_REGISTER_ATEN("unbind", map_unbind, "Gather")
QUENCH_REGISTER_ATEN("slice", map_slice, "Slice")
QUENCH_REGISTER_ATEN("narrow", map_narrow, "Slice")
QUENCH_REGISTER_ATEN("select", map_select, "Gather")
QUENCH_REGISTER_ATEN("index_select", map_index_select, "Gather")
QUENCH_REGISTER_ATEN("gather", map_gather, "GatherElements")
QUENCH_REGISTER_ATEN("scatter", map_scatter, "ScatterElements")
QUENCH_REGISTER_ATEN("scatter_add", map_scatter, "ScatterElements")
QUENCH_REGISTER_ATEN_LAYER("embedding", map_embedding, "Gather")
QUENCH_REGISTER_ATEN("one_hot", map_one_hot, "OneHot")
QUENCH_REGISTER_ATEN("tril", map_triangle, "Trilu")
QUENCH_REGISTER_ATEN("triu", map_triangle, "Trilu")
QUENCH_REGISTER_ATEN("roll", map_roll, "Slice, Concat")
QUENCH_REGISTER_ATEN("flip", map_flip, "Slice")

}  // namespace quench
