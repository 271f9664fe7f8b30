#include "measure/gather_results.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>

namespace quench {
namespace {

// All of a prediction but its name.
struct Numbers {
  std::int64_t index, label, first, second;
  double first_logit, second_logit;
};

template <typename Plain>
std::string bytes_of(const Plain& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

template <typename Plain>
Plain value_of(const std::string& bytes) {
  Plain value;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

std::string packed(const Prediction& one) {
  return bytes_of(Numbers{one.index, one.label, one.first, one.second, one.first_logit, one.second_logit}) + one.name;
}

Prediction unpacked(const std::string& bytes) {
  const auto numbers = value_of<Numbers>(bytes);
  return {numbers.index,  bytes.substr(sizeof(Numbers)), numbers.label,       numbers.first,
          numbers.second, numbers.first_logit,           numbers.second_logit};
}

template <typename Item>
void sort_by_index(std::vector<Item>& items) {
  std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.index < b.index; });
}

void add_up_counts(const Processes& processes, EvalResult& result) {
  std::int64_t* const counts[] = {&result.images, &result.correct, &result.correct5, &result.texts, &result.tokens};
  at::Tensor sums = at::empty({std::size(counts)}, at::kLong);
  auto* sum = sums.data_ptr<std::int64_t>();
  for (std::size_t i = 0; i < std::size(counts); ++i) sum[i] = *counts[i];
  processes.sum(sums);
  for (std::size_t i = 0; i < std::size(counts); ++i) *counts[i] = sum[i];
}

}  // namespace

void gather_results(const Processes& processes, EvalResult& result, std::vector<TextLoss>& texts) {
  if (!processes.are_several()) return;
  add_up_counts(processes, result);
  at::Tensor slowest = at::full({1}, result.model_seconds, at::kDouble);
  processes.max(slowest);
  result.model_seconds = slowest.item<double>();
  result.skipped = processes.gather(result.skipped);
  std::vector<std::string> predictions, losses;
  for (const Prediction& one : result.predictions) predictions.push_back(packed(one));
  for (const TextLoss& one : texts) losses.push_back(bytes_of(one));
  result.predictions.clear();
  texts.clear();
  for (const std::string& one : processes.gather(predictions)) result.predictions.push_back(unpacked(one));
  for (const std::string& one : processes.gather(losses)) texts.push_back(value_of<TextLoss>(one));
  sort_by_index(result.predictions);
  sort_by_index(texts);
}

}  // namespace quench
