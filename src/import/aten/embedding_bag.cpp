// embedding_bag: rows of a table, summed or averaged over bags that follow each other in the list of indices.
// Which bag an index is in is a matrix of ones and zeros [bags, indices], and the sums are its product with the rows.
// A row that is not finite makes every bag NaN, where LibTorch has it in its own bag only: 0 * inf is NaN.
#include <ATen/ATen.h>

#include "import/aten/sizes.h"
#include "quench/error.h"

namespace quench {
namespace {

class BagMapper {
 public:
  explicit BagMapper(AtenCall& call) : call_(call), type_(call.tensor("weight").dtype()) {}

  Values map() {
    Value& indices = call_.tensor("indices");
    QUENCH_CHECK(indices.rank() == 1, call_.where(), ": the indices must be a vector");
    const std::int64_t mode = call_.integer("mode", 0);
    QUENCH_CHECK(mode == 0 || mode == 1, call_.where(),
                 ": only the sum and the mean of a bag are supported, not its maximum");
    Value& shares = membership(indices);
    Value& rows = call_.aux("Gather", {&call_.tensor("weight"), &indices}, {{"axis", std::int64_t{0}}});
    Value* factors = &shares;
    if (Value* given = call_.tensor_or_null("per_sample_weights")) factors = &call_.aux("Mul", {&shares, given});
    Value& sums = call_.make("MatMul", {factors, &rows});
    if (mode == 0) return {&sums, nullptr, nullptr, nullptr};
    Value& counts = call_.aux("ReduceSum", {&shares, &axis(1)}, {{"keepdims", std::int64_t{1}}});
    Value& at_least_one = call_.aux("Max", {&counts, &call_.scalar(1.0, type_)});  // an empty bag is zero
    return {&call_.make("Div", {&sums, &at_least_one}), nullptr, nullptr, nullptr};
  }

 private:
  Value& axis(std::int64_t number) { return call_.integers_constant({number}); }
  Value& number(std::int64_t value) { return call_.constant(at::scalar_tensor(value, at::kLong)); }

  // 0, 1, 2 ..., as many as the vector has elements.
  Value& places(Value& vector) {
    Value& count = call_.aux("Squeeze", {&call_.aux("Shape", {&vector})});
    return call_.aux("Range", {&number(0), &count, &number(1)});
  }

  Value& bag_starts() {
    Value& offsets = call_.cast(call_.tensor("offsets"), DType::kInt64);
    if (!call_.flag("include_last_offset")) return offsets;
    return call_.aux("Slice", {&offsets, &axis(0), &axis(-1), &axis(0)});
  }

  // An index is in the last bag that has begun; padding is in none.
  Value& membership(Value& indices) {
    Value& starts = bag_starts();
    Value& column = call_.aux("Unsqueeze", {&starts, &axis(1)});
    Value& begun = call_.cast(call_.aux("LessOrEqual", {&column, &places(indices)}), DType::kInt64);
    Value& count = call_.aux("ReduceSum", {&begun, &axis(0)}, {{"keepdims", std::int64_t{0}}});
    Value& bag = call_.aux("Sub", {&count, &number(1)});
    Value* inside = &call_.aux("Equal", {&call_.aux("Unsqueeze", {&places(starts), &axis(1)}), &bag});
    if (const std::int64_t row = padding_row(); row >= 0) {
      Value& padding = call_.cast(number(row), indices.dtype());
      inside = &call_.aux("And", {inside, &call_.aux("Not", {&call_.aux("Equal", {&indices, &padding})})});
    }
    return call_.cast(*inside, type_);
  }

  // -1: none. A negative one counts from the end of the table, except in the inner operators, where it means none.
  std::int64_t padding_row() const {
    const std::int64_t row = call_.has("padding_idx") ? call_.integer("padding_idx") : -1;
    if (row >= 0 || !call_.has("padding_idx") || call_.kind() != "embedding_bag") return row;
    const std::int64_t rows = fixed_size(call_, call_.tensor("weight"), 0);
    QUENCH_CHECK(row >= -rows, call_.where(), ": padding_idx ", row, " in a table of ", rows, " rows");
    return row + rows;
  }

  AtenCall& call_;
  DType type_;
};

Values map_embedding_bag(AtenCall& call) { return BagMapper(call).map(); }

}  // namespace

QUENCH_REGISTER_ATEN_LAYER("embedding_bag", map_embedding_bag, "Gather, MatMul")
QUENCH_REGISTER_ATEN_LAYER("_embedding_bag", map_embedding_bag, "Gather, MatMul")
QUENCH_REGISTER_ATEN_LAYER("_embedding_bag_forward_only", map_embedding_bag, "Gather, MatMul")

}  // namespace quench
