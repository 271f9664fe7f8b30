#include "ptq/input_means.h"

#include <ATen/ATen.h>

#include "data/batch_size.h"
#include "quench/error.h"
#include "quench/quantizers.h"

namespace quench {
namespace {

// What the layer reads, before its quantizer: a value of the float network.
const Value& float_input(const Node& layer) {
  const Node* quantizer = quantizer_in_front(layer, 0);
  return quantizer ? *quantizer->input(0) : *layer.input(0);
}

}  // namespace

InputMeans::InputMeans(const std::vector<Node*>& layers) {
  for (const Node* layer : layers) sums_.try_emplace(float_input(*layer).name());
}

std::vector<std::string> InputMeans::values() const {
  std::vector<std::string> names;
  for (const auto& [name, sum] : sums_) names.push_back(name);
  return names;
}

void InputMeans::begin_batch(std::int64_t items, std::int64_t rows) {
  copies_ = rows - items;
  items_ += items;
}

void InputMeans::see(const std::string& value, const at::Tensor& x) {
  ExactSum& sum = sums_.at(value);
  QUENCH_CHECK(sum.has_rows_of(x), "fast bias correction needs items of one size; use the sequential kind");
  sum.add(copies_ == 0 ? x : x.narrow(0, 0, x.size(0) - copies_), share_);
}

std::vector<Watch> InputMeans::watches() {
  std::vector<Watch> all;
  for (const std::string& name : values())
    all.push_back({name, false, [this, name](const at::Tensor& x) { see(name, x); }});
  return all;
}

at::Tensor InputMeans::of(const Node& layer) const {
  const Value& x = float_input(layer);
  const at::Tensor mean = sums_.at(x.name()).mean().to(at::kFloat).unsqueeze(0);
  if (first_dim(x) <= 0) return mean;
  std::vector<std::int64_t> sizes = mean.sizes().vec();
  sizes[0] = first_dim(x);
  return mean.expand(sizes).contiguous();
}

}  // namespace quench
