#include "reconstruct/sensitivity.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <cmath>

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

// Squared gradients at the unit's output for these items.
at::Tensor squares(RestOfNetwork& rest, std::int64_t first, std::int64_t count, const at::Generator& random) {
  const at::Tensor at = rest.target(first, count).detach().requires_grad_();
  const NamedValues outputs = rest.run(at, first, count);
  at::Tensor sum = at::zeros_like(at);
  for (int draw = 0; draw < kDraws; ++draw) {
    for (const std::string& name : rest.outputs())
      if (const at::Tensor y = outputs.at(name).tensor(); y.requires_grad()) y.backward(direction(y, random), true);
    if (!at.grad().defined()) return sum;
    sum += at.grad().square();
    at.mutable_grad().reset();
  }
  return sum;
}

}  // namespace

std::unique_ptr<RowStore> sensitivity_of(RestOfNetwork& rest, const Streams& streams, RowPool& pool,
                                         std::uint64_t seed) {
  const at::Generator random = at::make_generator<at::CPUGeneratorImpl>(seed);
  std::unique_ptr<RowStore> store;
  double sum = 0, count = 0;
  streams.for_chunks([&](std::int64_t first, std::int64_t rows) {
    const at::Tensor now = squares(rest, first, rows, random);
    if (!store) store = pool.make(streams.items(), now);
    store->put(first, now);
    sum += now.sum(at::kDouble).item<double>();
    count += static_cast<double>(now.numel());
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
