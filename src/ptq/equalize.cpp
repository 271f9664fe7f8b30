// Cross-layer equalization (docs/numerics.md 10.1; Nagel et al. 2019, "Data-Free Quantization", eq. 9-11): for a pair
// of layers with only piecewise linear, channel-wise operators between,
//   r1 = max|W1| per output channel, r2 = max|W2| per input channel, c = sqrt(r1 r2) / r2
//   W1 <- W1 / c, b1 <- b1 / c, W2 <- W2 c
// Repeated over all pairs until the factors settle. MQBench leaves channels with r1 + r2 < 0.5 alone; here only those
// where one of the two is zero, which have no factor.
//
// A ReLU6 between the two is linear only below its height h. The paper (section 5.1) replaces it by a Relu; here it
// stays, so that nothing changes: with x the channel's greatest value on the data, x / c must stay below h, hence
// c >= x / h where x <= h, and c = 1 where the ReLU6 cuts.
//
// Where the first layer's output is multiplied with another tensor on the way (the gate of a gated feed-forward layer),
// its weight says nothing about the range of what the second reads. r1 is then measured, max|x| per channel, which
// makes c the factor of SmoothQuant (Xiao et al. 2023, eq. 4) at alpha = 1/2; one round settles it.
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "data/content.h"
#include "ptq/channel_ranges.h"
#include "ptq/equalize_pairs.h"
#include "ptq/function_check.h"
#include "quench/error.h"
#include "quench/ptq.h"

namespace quench {
namespace {

at::Tensor ranges(const at::Tensor& rows) { return rows.abs().amax(1).to(at::kDouble); }

double spread(const at::Tensor& range) {
  const at::Tensor alive = range.masked_select(range > 0);
  return alive.numel() == 0 ? 1.0 : (alive.max() / alive.min()).item<double>();
}

at::Tensor output_ranges(const Node& layer) { return ranges(output_rows(layer, layer.input(1)->tensor().detach())); }
at::Tensor input_ranges(const Node& layer) { return ranges(input_rows(layer, layer.input(1)->tensor().detach())); }

double spread_of(const LayerPair& pair) {
  return std::sqrt(spread(output_ranges(*pair.first)) * spread(input_ranges(*pair.second)));
}

struct Balance : LayerPair {
  explicit Balance(const LayerPair& pair)
      : LayerPair(pair),
        first_weight(first->input(1)->tensor()),
        second_weight(second->input(1)->tensor()),
        spread_before(spread_of(pair)) {
    if (const Value* bias = first->input(2)) first_bias = bias->tensor();
    const std::int64_t channels = output_rows(*first, first_weight).size(0);
    factors = at::ones({channels}, at::kDouble);
    least = at::zeros({channels}, at::kDouble);
  }

  at::Tensor first_weight, second_weight, first_bias;  // as they were
  double spread_before;
  at::Tensor factors;   // the product over all rounds
  at::Tensor least;     // what the factors must not be below
  at::Tensor held;      // channels without a factor, where a ReLU6 cuts; or undefined
  at::Tensor measured;  // max|x| of what the second reads, where gated
};

void set_scaled(Graph& graph, Value& constant, const at::Tensor& tensor) {
  graph.set_tensor(constant, tensor.to(constant.tensor().scalar_type()).contiguous());
}

// The largest relative move of a factor. `r1`: of each channel of the first.
double balance(Graph& graph, Balance& pair, const at::Tensor& r1) {
  const at::Tensor r2 = input_ranges(*pair.second);
  const at::Tensor usable = (r1 > 0) & (r2 > 0);
  at::Tensor c = at::where(usable, (r1 / r2).sqrt().clamp(1e-6, 1e6), at::ones_like(r1));
  c = at::maximum(c * pair.factors, pair.least) / pair.factors;
  if (pair.held.defined()) c = at::where(pair.held, at::ones_like(c), c);
  pair.factors = pair.factors * c;
  // From the weights as the last round left them: another pair may have scaled their other side.
  Value &w1 = *pair.first->input(1), &w2 = *pair.second->input(1);
  set_scaled(graph, w1, scale_outputs(*pair.first, w1.tensor().detach().to(at::kDouble), c.reciprocal()));
  if (Value* b1 = pair.first->input(2))
    set_scaled(graph, *b1, b1->tensor().detach().to(at::kDouble) / c.reshape(b1->tensor().sizes()));
  set_scaled(graph, w2, scale_inputs(*pair.second, w2.tensor().detach().to(at::kDouble), c));
  return c.log().abs().max().item<double>();
}

void measure(const Graph& graph, std::vector<Balance>& pairs, const Dataset* data, const EqualizeOptions& options) {
  ChannelRangeOptions wanted{{}, options.batch, options.items};
  for (const Balance& pair : pairs) {
    if (pair.gated) wanted.axes[pair.second->input(0)->name()] = pair.axis;
    if (pair.clip) wanted.axes[pair.clip->input(0)->name()] = pair.axis;
  }
  if (wanted.axes.empty()) return;
  const std::map<std::string, at::Tensor> seen = channel_ranges(graph, *data, wanted);
  for (Balance& pair : pairs) {
    if (pair.gated) pair.measured = seen.at(pair.second->input(0)->name()).abs().amax(0);
    if (!pair.clip) continue;
    const at::Tensor top = seen.at(pair.clip->input(0)->name())[1] / height_of(*pair.clip);
    pair.held = top > 1.0;
    pair.least = top.clamp_min(0.0);
  }
}

int balance_all(Graph& graph, std::vector<Balance>& pairs, const EqualizeOptions& options) {
  int rounds = 0;
  for (double moved = INFINITY; rounds < options.rounds && moved > options.tolerance && !pairs.empty(); ++rounds) {
    moved = 0;
    for (Balance& pair : pairs)
      if (!pair.gated) moved = std::max(moved, balance(graph, pair, output_ranges(*pair.first)));
  }
  for (Balance& pair : pairs)
    if (pair.gated) balance(graph, pair, pair.measured);
  return rounds;
}

void undo(Graph& graph, std::vector<Balance>& pairs) {
  for (Balance& pair : pairs) {
    graph.set_tensor(*pair.first->input(1), pair.first_weight);
    graph.set_tensor(*pair.second->input(1), pair.second_weight);
    if (pair.first_bias.defined()) graph.set_tensor(*pair.first->input(2), pair.first_bias);
    pair.factors = at::ones_like(pair.factors);
  }
}

// What a layer writes is smaller by the factors of the pair that it begins.
std::map<std::string, at::Tensor> factors_of(const std::vector<Balance>& pairs) {
  std::map<std::string, at::Tensor> factors;
  for (const Balance& pair : pairs) {
    const Value& output = pair.first->output();
    std::vector<std::int64_t> shape(static_cast<std::size_t>(output.rank()), 1);
    shape[static_cast<std::size_t>(pair.axis)] = -1;
    factors[output.name()] = pair.factors.reshape(shape);
  }
  return factors;
}

// The pair to blame for a difference: the one whose second layer shows it first; else the last.
std::vector<Balance>::iterator culprit(std::vector<Balance>& pairs, const std::string& value) {
  const auto at = std::find_if(pairs.begin(), pairs.end(),
                               [&](const Balance& pair) { return pair.second->output().name() == value; });
  return at == pairs.end() ? pairs.end() - 1 : at;
}

// False, with one pair fewer and everything else restored, if the network would compute something else.
bool keeps_function(Graph& graph, const FunctionCheck& check, std::vector<Balance>& pairs, EqualizeRecord& record) {
  record.change = record.bound = 0.0;
  for (const FunctionCheck::Difference& one : check.compare(graph, factors_of(pairs))) {
    if (one.broken() && !pairs.empty()) {
      undo(graph, pairs);
      const auto at = culprit(pairs, one.value);
      record.skipped.push_back(concat(at->first->name(), ": scaled against '", at->second->name(), "', it changes '",
                                      one.value, "' by ", one.found, " (of ", one.bound, " that rounding explains)"));
      pairs.erase(at);
      return false;
    }
    if (one.found >= record.change) record.change = one.found, record.bound = one.bound;
  }
  return true;
}

// Null, with the reason, if there is no data and the network does not run on random numbers: what cannot be checked
// is not done.
std::unique_ptr<FunctionCheck> make_check(const Graph& graph, const Dataset* data,
                                          const std::vector<std::string>& watched, EqualizeRecord& record) {
  try {
    return std::make_unique<FunctionCheck>(graph, check_inputs(graph, data), watched);
  } catch (const Error& error) {
    if (data) throw;
    record.skipped.push_back(concat("all pairs: they cannot be checked without data: ", error.message()));
    return nullptr;
  }
}

EqualizedPair record_of(const Balance& pair) {
  EqualizedPair record;
  record.first = pair.first->name();
  record.second = pair.second->name();
  record.largest_factor = std::exp(pair.factors.log().abs().max().item<double>());
  record.spread_before = pair.spread_before;
  record.spread_after = spread_of(pair);
  if (pair.clip) record.clip = pair.clip->name();
  if (pair.held.defined()) record.held = pair.held.sum().item<std::int64_t>();
  const at::Tensor factors = pair.factors.contiguous();
  record.factors.assign(factors.const_data_ptr<double>(), factors.const_data_ptr<double>() + factors.numel());
  for (const Value* value : pair.between) record.between.push_back(value->name());
  record.axis = pair.axis;
  return record;
}

}  // namespace

EqualizeRecord equalize(Graph& graph, const EqualizeOptions& options) {
  const c10::AutoGradMode no_grad(false);
  EqualizeRecord record;
  std::vector<Balance> pairs;
  std::vector<std::string> watched;
  for (const LayerPair& pair : find_pairs(graph, options.data != nullptr, record.skipped)) {
    pairs.emplace_back(pair);
    watched.push_back(pair.second->output().name());
  }
  if (pairs.empty()) return record;
  const std::int64_t most = std::max(options.items, kCheckedItems);
  const std::unique_ptr<Dataset> items = options.data ? sample_of(*options.data, most) : nullptr;
  measure(graph, pairs, items.get(), options);
  const std::unique_ptr<FunctionCheck> check = make_check(graph, items.get(), watched, record);
  if (!check) return record;
  do record.rounds = balance_all(graph, pairs, options);
  while (!keeps_function(graph, *check, pairs, record));
  for (const Balance& pair : pairs) record.pairs.push_back(record_of(pair));
  graph.verify();
  return record;
}

}  // namespace quench
