// TfIdfVectorizer: how often each n-gram of a pool occurs in rows of integers, weighted.
#include <ATen/ATen.h>

#include <algorithm>
#include <map>

#include "graph/tensor_types.h"
#include "ops/arguments.h"
#include "ops/shape_rules.h"
#include "quench/error.h"

namespace quench {
namespace {

using Gram = std::vector<std::int64_t>;

struct Pool {
  std::map<Gram, std::int64_t> columns;  // of the output
  std::int64_t shortest = 1, longest = 1, skips = 0;
  std::int64_t width = 0;
};

std::int64_t output_width(const Node& node) {
  const std::vector<std::int64_t> columns = node.require_ints("ngram_indexes");
  QUENCH_CHECK(!columns.empty() && *std::min_element(columns.begin(), columns.end()) >= 0, node.where(),
               ": ngram_indexes must be columns of the output, zero or more");
  const std::int64_t last = *std::max_element(columns.begin(), columns.end());
  QUENCH_CHECK(last < kLargestDim, node.where(), ": ngram_indexes names column ", last, ", beyond any tensor");
  return last + 1;
}

// ngram_counts says where in the pool the n-grams of each length begin.
Pool pool_of(const Node& node) {
  QUENCH_CHECK(!node.has("pool_strings"), node.where(), ": pools of strings are not supported; integers are");
  const std::vector<std::int64_t> items = node.require_ints("pool_int64s"), begins = node.require_ints("ngram_counts"),
                                  columns = node.require_ints("ngram_indexes");
  Pool pool{{},
            node.require_int("min_gram_length"),
            node.require_int("max_gram_length"),
            node.require_int("max_skip_count"),
            output_width(node)};
  QUENCH_CHECK(pool.shortest >= 1 && pool.shortest <= pool.longest && pool.skips >= 0, node.where(), ": n-grams of ",
               pool.shortest, " to ", pool.longest, " items with ", pool.skips, " skips");
  pool.longest = std::min(pool.longest, static_cast<std::int64_t>(begins.size()));
  const auto total = static_cast<std::int64_t>(items.size());
  std::size_t gram = 0;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const auto length = static_cast<std::int64_t>(i) + 1;
    const std::int64_t end = i + 1 < begins.size() ? begins[i + 1] : total;
    QUENCH_CHECK(begins[i] >= 0 && begins[i] <= end && end <= total, node.where(), ": ngram_counts do not ascend to ",
                 total, ", the size of the pool");
    for (std::int64_t at = begins[i]; at + length <= end; at += length, ++gram) {
      QUENCH_CHECK(gram < columns.size(), node.where(), ": ngram_indexes lacks a column for n-gram ", gram);
      if (length < pool.shortest || length > pool.longest) continue;
      pool.columns[Gram(items.begin() + at, items.begin() + at + length)] = columns[gram];
    }
  }
  return pool;
}

// Items may be skipped between those of an n-gram, the same number each time; single items are counted once.
void count_row(const Pool& pool, const std::int64_t* row, std::int64_t size, float* counts) {
  for (std::int64_t step = 1; step <= std::min(pool.skips + 1, std::max<std::int64_t>(size, 1)); ++step) {
    for (std::int64_t begin = 0; begin < size; ++begin) {
      Gram gram;
      for (std::int64_t at = begin; at < size && static_cast<std::int64_t>(gram.size()) < pool.longest; at += step) {
        gram.push_back(row[at]);
        const auto length = static_cast<std::int64_t>(gram.size());
        if (length < pool.shortest || (length == 1 && step > 1)) continue;
        if (const auto found = pool.columns.find(gram); found != pool.columns.end()) counts[found->second] += 1.0F;
      }
    }
  }
}

at::Tensor weighted(const Node& node, const at::Tensor& counts) {
  const std::string mode = node.get_string("mode", "");
  QUENCH_CHECK(mode == "TF" || mode == "IDF" || mode == "TFIDF", node.where(), ": mode '", mode,
               "' is not one of TF, IDF, TFIDF");
  if (mode == "TF") return counts;
  const at::Tensor used = mode == "IDF" ? counts.clamp_max(1.0) : counts;
  const std::vector<double> weights = node.get_floats("weights", {});
  if (weights.empty()) return used;
  // One per column of the output, as ONNX's reference and ONNX Runtime read them.
  QUENCH_CHECK(static_cast<std::int64_t>(weights.size()) >= counts.size(-1), node.where(), ": ", weights.size(),
               " weights for ", counts.size(-1), " columns");
  return used * at::tensor(weights, at::kFloat).narrow(0, 0, counts.size(-1));
}

std::vector<RtValue> tf_idf(const Node& node, const Inputs& in, ExecContext& context) {
  const Pool pool = pool_of(node);
  const at::Tensor& given_x = in[0].tensor();
  QUENCH_CHECK(given_x.dim() <= 2 && is_integer(in[0].dtype()), node.where(),
               ": the input must be integers, [C] or [N, C]");
  const at::Tensor x = given_x.to(at::kCPU, at::kLong).contiguous();
  const std::int64_t rows = x.dim() == 2 ? x.size(0) : 1, size = x.dim() == 2 ? x.size(1) : x.numel();
  const at::Tensor counts = at::zeros({rows, pool.width}, at::kFloat);
  for (std::int64_t i = 0; i < rows; ++i)
    count_row(pool, x.const_data_ptr<std::int64_t>() + i * size, size, counts.data_ptr<float>() + i * pool.width);
  const at::Tensor y = weighted(node, counts).to(context.device());
  return {x.dim() == 2 ? y : y.reshape({pool.width})};
}

void tf_idf_shape(Node& node) {
  const std::optional<Dims> x = input_dims(node, 0);
  const Dim width(output_width(node));
  std::optional<Dims> y;
  if (x) y = x->size() == 2 ? Dims{(*x)[0], width} : Dims{width};
  set_type(node, 0, DType::kFloat, y);
}

}  // namespace

QUENCH_REGISTER_OP("TfIdfVectorizer", tf_idf, tf_idf_shape, {}, "counts n-grams of integers, weighted")

}  // namespace quench
