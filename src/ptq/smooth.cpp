// SmoothQuant (Xiao et al. 2023, eq. 3 and 4): outlier channels of what linear layers read are made smaller, and the
// rows of their weights larger:  c_j = r(x_j)^a / max|w_j|^(1-a),  x <- x / c,  W <- diag(c) W. The paper's r is
// max|x_j|; here it is the geometric mean of that and the root mean square, which held better (docs/results.md). The
// division goes into what makes x: the scale and bias of a norm, or a product with a vector, however spelled. Where
// nothing takes it (after an activation function), a product is put there if it pays. The paper fixes a; here each
// tensor gets the one with the least error of its layers' outputs on a sample of rows, under the very schemes and
// observers of the plan, "as it was" being one of the candidates.
//
// Channels are centred first where that is free or pays, x <- x - (min x_j + max x_j) / 2, and the biases of the layers
// take what is missing (Outlier Suppression+, Wei et al. 2023, eq. 3): a symmetric scheme then uses all its codes.
//
// A channel that is hundreds of times larger than the others on a few tokens ("massive activations") is too much for
// either side. The largest few channels may leave the quantized product and be multiplied in float beside it
// (LLM.int8(), Dettmers et al. 2022, section 3.2), where that pays.
#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>

#include "data/content.h"
#include "data/fed_items.h"
#include "data/feed.h"
#include "kernels/affine/affine.h"
#include "ptq/function_check.h"
#include "ptq/smooth_site.h"
#include "quench/error.h"
#include "quench/executor.h"
#include "quench/observer.h"
#include "quench/ptq.h"

namespace quench {
namespace {

constexpr double kWorthAProduct = 0.5;   // the error with a product after x, over that without
constexpr double kWorthOutliers = 0.25;  // the error with channels in float, over that without
constexpr double kBearable = 0.005;      // an error (23 dB) below which no channel is taken out
constexpr int kMostOutliers = 4;         // channels in float

// What is seen of one tensor: the range of each channel over all rows, and some of the rows: at equal distances, and
// the largest, which are few and decide (a token that collects the attention of all others).
struct Seen {
  at::Tensor low, high;  // double
  std::vector<at::Tensor> rows;
  std::int64_t tokens = 0;  // rows of one item
  void add(const at::Tensor& x, std::int64_t items, std::int64_t most) {
    const at::Tensor all = x.detach().to(at::kFloat).reshape({-1, x.size(-1)});
    tokens = std::max(tokens, all.size(0) / std::max<std::int64_t>(items, 1));
    const at::Tensor least = all.amin(0).to(at::kDouble), most_of = all.amax(0).to(at::kDouble);
    low = low.defined() ? at::minimum(low, least) : least;
    high = high.defined() ? at::maximum(high, most_of) : most_of;
    QUENCH_CHECK(at::stack({low, high}).isfinite().all().item<bool>(), "what a layer reads is not finite on this data");
    const std::int64_t step = std::max<std::int64_t>(all.size(0) / most, 1);
    rows.push_back(all.slice(0, 0, all.size(0), step).clone());
    const std::int64_t largest = std::min(std::max<std::int64_t>(most / 8, 1), all.size(0));
    rows.push_back(all.index_select(0, std::get<1>(all.abs().amax(1).topk(largest))));
  }
};

// One item at a time, so that the sample does not depend on how the data is cut.
std::vector<Seen> look_at(const Graph& graph, const std::vector<SmoothSite>& sites, const Dataset& data,
                          const SmoothOptions& options) {
  std::vector<Seen> all(sites.size());
  QUENCH_CHECK(data.size() > 0, "the data is empty: smoothing needs at least one item");
  Executor executor(graph);
  std::int64_t fed = 1;
  for (std::size_t i = 0; i < sites.size(); ++i)
    executor.on_value(sites[i].x->name(), [&, i](const Value&, RtValue& result) {
      with_context([&] { return concat("at '", sites[i].x->name(), "'"); },
                   [&] { all[i].add(result.tensor(), fed, std::max<std::int64_t>(options.rows / data.size(), 1)); });
      return Next::kContinue;
    });
  FeedOptions how;
  how.otherwise = 1;
  how.skip_broken = true;  // calibration reports broken items
  Feed feed(graph, data, how);
  const std::vector<std::string> outputs = output_names(graph);
  std::int64_t done = 0;
  while (const std::optional<Fed> batch = feed.next()) {
    fed = batch->rows;
    naming_items({&*batch, 1}, [&] { executor.run(batch->inputs, outputs); });
    done += batch->items;
    if (options.progress) options.progress(done, data.size());
  }
  for (std::size_t i = 0; i < sites.size(); ++i)
    QUENCH_CHECK(!all[i].rows.empty(), "no item of the data reached '", sites[i].x->name(), "'");
  return all;
}

at::Tensor quantized(const at::Tensor& x, const PlanEntry& entry, QuantizeBy by) {
  const auto observer = make_observer(entry);
  observer->observe(x);
  const QParams params = observer->qparams();
  const std::vector<std::int64_t> shape = entry.scheme.scale_shape(x.sizes().vec());
  const at::Tensor scale = at::tensor(params.scale).reshape(shape);
  const at::Tensor zero = at::tensor(params.zero_point).to(at::kFloat).reshape(shape);
  return fake_quantize(x, {scale, zero, entry.scheme, by});
}

struct Treatment {
  double alpha = 0.0, error = 0.0;
  at::Tensor factors, shifts;
  ChannelChange change() const { return {factors, shifts}; }
};

class Search {
 public:
  Search(const SmoothSite& site, const Seen& seen, QuantizeBy by)
      : site_(site), by_(by), rows_(at::cat(seen.rows)), low_(seen.low), high_(seen.high) {
    energy_ = at::zeros({rows_.size(0)}, at::kDouble);
    for (std::size_t i = 0; i < site.layers.size(); ++i) {
      const at::Tensor w = as_matrix(*site.layers[i], site.weight(i).detach().to(at::kFloat));
      weights_.push_back(w);
      wanted_.push_back(rows_.matmul(w));
      energy_ += wanted_.back().square().sum(1, false, at::kDouble);
      const at::Tensor reach = w.abs().amax(1).to(at::kDouble);
      w_reach_ = w_reach_.defined() ? at::maximum(w_reach_, reach) : reach;
    }
  }

  // Of a narrow tensor not even one.
  std::int64_t most_outliers() const { return std::min<std::int64_t>(kMostOutliers, low_.numel() / 8); }

  Treatment as_it_is() const { return tried(0.0, at::ones_like(low_), at::zeros_like(low_)); }

  // The best of all exponents, centred or not, with the largest `outliers` channels in float.
  Treatment best(bool centred, int outliers) const {
    const at::Tensor shifts = centred ? (low_ + high_) / 2 : at::zeros_like(low_);
    const at::Tensor reach = reach_of(shifts);
    Treatment found = tried(0.0, without(at::ones_like(low_), outliers), without(shifts, outliers));
    for (const double alpha : {0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0}) {
      const Treatment next = tried(alpha, without(factors_for(reach, alpha), outliers), without(shifts, outliers));
      if (next.error < found.error) found = next;
    }
    return found;
  }

 private:
  // Between the largest value and the root mean square: the one alone follows single values too closely.
  at::Tensor reach_of(const at::Tensor& shifts) const {
    const at::Tensor largest = at::maximum(high_ - shifts, shifts - low_);
    return (largest * (rows_.to(at::kDouble) - shifts).square().mean(0).sqrt()).sqrt();
  }

  at::Tensor factors_for(const at::Tensor& reach, double alpha) const {
    const at::Tensor usable = (reach > 0) & (w_reach_ > 0);
    const at::Tensor factors = reach.pow(alpha) / w_reach_.pow(1.0 - alpha);
    const at::Tensor some = at::where(usable, factors, at::ones_like(factors));
    return some / some.log().mean().exp();  // as a whole neither larger nor smaller
  }

  at::Tensor without(const at::Tensor& vector, int outliers) const {
    if (outliers == 0) return vector;
    return vector.index_fill(0, std::get<1>(at::maximum(high_, -low_).topk(outliers)), 0.0);
  }

  Treatment tried(double alpha, const at::Tensor& factors, const at::Tensor& shifts) const {
    return {alpha, error_of({factors, shifts}), factors, shifts};
  }

  // The squared error of what the layers give over the energy of what they should, mean over rows. Row by row: what
  // follows normalizes each token, and a few tokens of a transformer are hundreds of times larger than all others.
  double error_of(const ChannelChange& change) const {
    const at::Tensor inside = change.factors > 0, shifts = change.shifts.to(at::kFloat);
    const at::Tensor shrink =
        at::where(inside, change.factors.reciprocal(), at::zeros_like(change.factors)).to(at::kFloat);
    const at::Tensor x = quantized(((rows_ - shifts) * shrink).contiguous(), *site_.entry, by_);
    // What the quantized product lacks: the channels beside it, and the shifts.
    const at::Tensor lacks = at::where(inside, shifts, rows_);
    const at::Tensor grow = change.factors.to(at::kFloat).unsqueeze(1);
    at::Tensor error = at::zeros_like(energy_);
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      const Node& layer = *site_.layers[i];
      const at::Tensor scaled = as_matrix(layer, weights_[i] * grow).contiguous();
      const at::Tensor y = x.matmul(as_matrix(layer, quantized(scaled, *site_.weights[i], by_)));
      error += (y + lacks.matmul(weights_[i]) - wanted_[i]).square().sum(1, false, at::kDouble);
    }
    const at::Tensor alive = energy_ > 0;
    return alive.any().item<bool>() ? (error / energy_).masked_select(alive).mean().item<double>() : 0.0;
  }

  const SmoothSite& site_;
  QuantizeBy by_;
  at::Tensor rows_, energy_;
  at::Tensor low_, high_, w_reach_;  // of each channel
  std::vector<at::Tensor> weights_, wanted_;
};

// The simplest treatment that no costlier one beats by enough. Operators are only put in front of layers that work on
// many rows per item: in front of the head of a convolutional network they would cost and save nothing.
Treatment choose(const SmoothSite& site, const Search& search, bool may_insert) {
  Treatment chosen = search.as_it_is();
  double least = chosen.error;
  const auto consider = [&](const Treatment& next, double worth) {
    least = std::min(least, next.error);
    if (next.error < worth * chosen.error) chosen = next;
  };
  if (site.scaled.empty() && !may_insert) return chosen;
  consider(search.best(false, 0), site.scaled.empty() ? kWorthAProduct : 1.0);
  const bool can_centre = !site.biases.empty() && (may_insert || site.offset.node);
  if (can_centre) consider(search.best(true, 0), site.offset.node ? 1.0 : kWorthAProduct);
  for (int outliers = 1; may_insert && site.splits && outliers <= search.most_outliers() && least > kBearable;
       outliers *= 2) {
    const Treatment split = search.best(false, outliers);
    if (split.error < kWorthOutliers * least) return split;
  }
  return chosen;
}

void smooth_site(Graph& graph, SmoothSite& site, const Seen& seen, QuantizeBy by, SmoothRecord& record) {
  const Search search(site, seen, by);
  const Treatment chosen = choose(site, search, seen.tokens > 1);
  SmoothedTensor result;
  result.value = site.x->name();
  result.alpha = chosen.alpha;
  result.centred = chosen.shifts.ne(0).any().item<bool>();
  result.outliers = chosen.factors.eq(0).sum().item<std::int64_t>();
  result.error_before = search.as_it_is().error;
  result.error_after = chosen.error;
  result.product = result.changed() && needs_product(site, chosen.change());
  if (result.changed()) apply_change(graph, site, chosen.change());
  record.tensors.push_back(result);
}

// "" if both compute the same, up to rounding.
std::string difference(const Graph& before, const Graph& after, const Dataset& data) {
  const FunctionCheck check(before, check_inputs(before, &data), {});
  for (const FunctionCheck::Difference& one : check.compare(after, {}))
    if (one.broken())
      return concat("nothing was smoothed: the output '", one.value, "' would change by ", one.found,
                    ", where rounding explains ", one.bound);
  return "";
}

}  // namespace

bool SmoothedTensor::changed() const { return alpha > 0.0 || centred || outliers > 0; }

bool SmoothRecord::changed() const {
  return std::any_of(tensors.begin(), tensors.end(), [](const SmoothedTensor& one) { return one.changed(); });
}

SmoothRecord smooth(Graph& graph, QuantPlan& plan, const Dataset& data, const SmoothOptions& options) {
  const c10::AutoGradMode no_grad(false);
  SmoothRecord record;
  Graph treated(graph);  // an error leaves both as they were
  QuantPlan moved = plan;
  std::vector<SmoothSite> sites = find_smooth_sites(treated, moved, record.skipped);
  if (sites.empty()) return record;
  const std::unique_ptr<Dataset> items = sample_of(data, options.items);
  const std::vector<Seen> seen = look_at(treated, sites, *items, options);
  for (std::size_t i = 0; i < sites.size(); ++i)
    with_context([&] { return concat("while smoothing '", sites[i].x->name(), "'"); },
                 [&] { smooth_site(treated, sites[i], seen[i], plan.by, record); });
  for (std::size_t i = 0; i < sites.size(); ++i) {
    record.tensors[i].quantized = sites[i].entry->value;
    if (record.tensors[i].product)
      moved.skipped.push_back(
          {record.tensors[i].value, concat("'", record.tensors[i].quantized, "' is quantized in its place")});
  }
  treated.verify();
  if (const std::string reason = difference(graph, treated, *items); !reason.empty()) {
    record.tensors.clear();
    record.undone = reason;
    return record;
  }
  graph = std::move(treated);
  plan = std::move(moved);
  return record;
}

}  // namespace quench
