#include "reconstruct/sensitivity.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <cmath>
#include <set>

#include "quench/error.h"

namespace quench {
namespace {

constexpr int kDraws = 2;            // of a direction, for each item
constexpr double kPlainShare = 0.5;  // of the weight: few draws tell little of an element by itself

// A direction whose expected square is the curvature of the loss there. An output of two axes is taken for logits: of
// cross entropy, diag(p) - p p'. Of any other the squared error's, which is 1.
at::Tensor direction(const at::Tensor& output, at::Generator random) {
  const at::Tensor noise = at::randn(output.sizes(), random, at::kFloat).to(output.device());
  if (output.dim() != 2) return noise;
  const at::Tensor p = output.detach().softmax(1), n = p.sqrt() * noise;
  return n - p * (p.sqrt() * noise).sum(1, true);
}

// What the rest of the network reads that no later unit makes.
std::vector<std::string> read_behind(const std::vector<Unit>& units, std::size_t unit, bool shared) {
  std::set<std::string> read, made;
  for (std::size_t i = unit + 1; i < units.size(); ++i) {
    const auto& inputs = shared ? units[i].shared_inputs : units[i].inputs;
    const auto& outputs = shared ? units[i].shared_outputs : units[i].outputs;
    read.insert(inputs.begin(), inputs.end());
    made.insert(outputs.begin(), outputs.end());
  }
  std::vector<std::string> names;
  for (const std::string& name : read)
    if (!made.contains(name)) names.push_back(name);
  return names;
}

std::vector<std::string> float_outputs(const Graph& graph) {
  std::vector<std::string> names;
  for (const Value* output : graph.outputs())
    if (output->dtype() == DType::kFloat) names.push_back(output->name());
  return names;
}

class Rest {
 public:
  Rest(const Streams& streams, std::size_t unit, Executor& executor, std::uint64_t seed)
      : streams_(streams),
        unit_(streams.units()[unit]),
        executor_(executor),
        random_(at::make_generator<at::CPUGeneratorImpl>(seed)),
        outputs_(float_outputs(executor.graph())),
        rows_(read_behind(streams.units(), unit, false)),
        shared_(read_behind(streams.units(), unit, true)) {}

  // Squared gradients at the unit's output for these items.
  at::Tensor squares(std::int64_t first, std::int64_t count) {
    const Stream& plain = streams_.plain();
    NamedValues feeds;
    for (const std::string& name : rows_) feeds[name] = RtValue(plain.store(name).get(first, count), plain.type(name));
    for (const std::string& name : shared_) feeds[name] = plain.shared(name);
    at::Tensor at = plain.store(unit_.output()).get(first, count).detach().requires_grad_();
    feeds[unit_.output()] = RtValue(at);
    const NamedValues outputs = executor_.run(feeds, outputs_);
    at::Tensor sum = at::zeros_like(at);
    for (int draw = 0; draw < kDraws; ++draw) {
      for (const std::string& name : outputs_)
        if (const at::Tensor y = outputs.at(name).tensor(); y.requires_grad()) y.backward(direction(y, random_), true);
      if (!at.grad().defined()) return sum;
      sum += at.grad().square();
      at.mutable_grad().reset();
    }
    return sum;
  }

 private:
  const Streams& streams_;
  const Unit& unit_;
  Executor& executor_;
  at::Generator random_;
  const std::vector<std::string> outputs_, rows_, shared_;
};

}  // namespace

std::unique_ptr<RowStore> sensitivity_of(const Streams& streams, std::size_t unit, Executor& executor, RowPool& pool,
                                         std::uint64_t seed) {
  Rest rest(streams, unit, executor, seed);
  std::unique_ptr<RowStore> store;
  double sum = 0, count = 0;
  streams.for_chunks([&](std::int64_t first, std::int64_t rows) {
    const at::Tensor squares = rest.squares(first, rows);
    if (!store) store = pool.make(streams.items(), squares);
    store->put(first, squares);
    sum += squares.sum(at::kDouble).item<double>();
    count += static_cast<double>(squares.numel());
  });
  QUENCH_CHECK(std::isfinite(sum), "the gradient of the network's outputs is not finite: take loss: mse");
  const double mean = sum > 0 ? sum / count : 1.0;
  streams.for_chunks([&](std::int64_t first, std::int64_t rows) {
    const double plain = sum > 0 ? kPlainShare : 1.0;  // nothing depends on the unit: its errors weigh the same
    store->put(first, store->get(first, rows).mul((1 - plain) / mean).add_(plain));
  });
  return store;
}

}  // namespace quench
