#include "deploy/compare_outputs.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>

#include "convert/quantized.h"
#include "data/top_classes.h"
#include "graph/border.h"
#include "measure/apart.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Probabilities below this do not count: 14 in logits below the first, no rounding lifts them to the top, and
// runtimes may flush them to zero.
constexpr double kLeastProbability = 1e-6;
// A language model's logits in doubles, several times over, would be the largest thing in memory.
constexpr std::int64_t kElementsAtOnce = 1 << 20;

void append(std::vector<float>& to, const at::Tensor& values) {
  const at::Tensor flat = values.to(at::kFloat).contiguous();
  to.insert(to.end(), flat.const_data_ptr<float>(), flat.const_data_ptr<float>() + flat.numel());
}

// By how much the first of each row leads the second.
at::Tensor leads_of(const at::Tensor& rows) {
  const at::Tensor two = std::get<0>(rows.topk(2, 1));
  return two.select(1, 0) - two.select(1, 1);
}

// The Softmax that makes the output, whatever moves its elements around after it.
bool is_probabilities(const Value& output) {
  const Node* node = source_of_output(output).producer();
  while (node && moves_codes(*node)) node = node->input(0)->producer();
  return node && node->op() == "Softmax";
}

}  // namespace

double OutputResult::steps(double difference) const {
  if (difference == 0.0) return 0.0;
  return step > 0.0 ? difference / step : kInfinity;
}

at::Tensor predictions_of(const at::Tensor& output, Task task) {
  if (output.dim() < 2) return output.reshape({-1, 1});
  if (task == Task::kClassify) return output.flatten(1);
  const std::int64_t axis = task == Task::kNone && (output.dim() > 3 || output.size(-1) == 1) ? 1 : output.dim() - 1;
  return output.movedim(axis, -1).reshape({-1, output.size(axis)});
}

OutputComparison::OutputComparison(const Value& output, Task task) : task_(task) {
  result_.name = output.name();
  const Node* quantizer = source_of_output(output).producer();
  result_.quantized = is_quantizer(quantizer) && fake_quant_spec(*quantizer).scheme.per_tensor();
  if (result_.quantized) result_.step = qtype_of(*quantizer).params.scale[0];
  result_.probabilities = !result_.quantized && is_probabilities(output);
}

void OutputComparison::check_shapes(const at::Tensor& a, const at::Tensor& b) const {
  QUENCH_CHECK(a.sizes() == b.sizes(), "the output '", result_.name, "' has the shape ", a.sizes(),
               ", the simulation's ", b.sizes());
}

at::Tensor OutputComparison::scores(const at::Tensor& output) const {
  const at::Tensor wide = output.to(at::kDouble);
  return result_.probabilities ? wide.clamp_min(kLeastProbability).log() : wide;
}

void OutputComparison::add_discrete(const at::Tensor& found, const at::Tensor& simulated) {
  result_.discrete = true;
  const at::Tensor apart = (found.to(at::kDouble) - simulated.to(at::kDouble)).abs();
  append(farthest_, apart.reshape(-1));
  result_.changed += apart.ne(0).sum().item<std::int64_t>();
  result_.largest = std::max(result_.largest, apart.max().item<double>());
  sum_ += apart.sum().item<double>();
  count_ += apart.numel();
}

void OutputComparison::add_range(const at::Tensor& simulated) {
  const at::Tensor known = simulated.masked_select(simulated.isfinite());
  if (known.numel() == 0) return;
  const double low = known.min().item<double>(), high = known.max().item<double>();
  low_ = count_ == 0 ? low : std::min(low_, low);
  high_ = count_ == 0 ? high : std::max(high_, high);
}

void OutputComparison::add(const at::Tensor& found, const at::Tensor& simulated) {
  check_shapes(found, simulated);
  if (simulated.numel() == 0) return;
  if (!simulated.is_floating_point()) return add_discrete(found, simulated);
  const at::Tensor theirs = predictions_of(found, task_), ours = predictions_of(simulated, task_);
  const std::int64_t rows = std::max<std::int64_t>(1, kElementsAtOnce / std::max<std::int64_t>(1, ours.size(1)));
  for (std::int64_t at = 0; at < ours.size(0); at += rows)
    add_rows(scores(theirs.slice(0, at, at + rows)), scores(ours.slice(0, at, at + rows)));
}

void OutputComparison::add_rows(const at::Tensor& a, const at::Tensor& b) {
  add_range(b);
  const at::Tensor distance = apart(a, b);
  append(farthest_, std::get<0>(distance.max(1)));
  result_.largest = std::max(result_.largest, distance.max().item<double>());
  sum_ += distance.sum().item<double>();
  count_ += distance.numel();
  if (b.size(1) < 2) return;
  const at::Tensor changed = top_class(a).ne(top_class(b));
  result_.changed += changed.sum().item<std::int64_t>();
  append(leads_, leads_of(b).masked_select(changed));
}

void OutputComparison::add_whole(const at::Tensor& found, const at::Tensor& integers) {
  check_shapes(found, integers);
  if (found.numel() == 0) return;
  const at::Tensor distance = apart(scores(found), scores(integers));
  result_.largest_whole = std::max(result_.largest_whole, distance.max().item<double>());
}

OutputResult OutputComparison::result(const OutputBounds& bounds) const {
  OutputResult result = result_;
  if (!result.quantized) result.step = (high_ > low_ ? high_ - low_ : std::max(std::abs(low_), std::abs(high_))) / 255;
  if (result.discrete) result.step = 1.0;
  result.mean = count_ == 0 ? 0.0 : sum_ / static_cast<double>(count_);
  result.predictions = static_cast<std::int64_t>(farthest_.size());
  const double bound = result.discrete ? 0.0 : bounds.steps;
  const auto is_beyond = [&](float difference) { return result.steps(difference) > bound; };
  const auto is_decisive = [&](float lead) { return result.steps(lead) > 2 * bounds.steps; };
  result.beyond = std::count_if(farthest_.begin(), farthest_.end(), is_beyond);
  result.decisive = std::count_if(leads_.begin(), leads_.end(), is_decisive);
  return result;
}

}  // namespace quench
