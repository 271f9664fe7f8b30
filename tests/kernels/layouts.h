// Tensors in every layout that a kernel must take, with the schemes that apply to them.
#pragma once

#include <ATen/ATen.h>

#include <string>
#include <vector>

#include "quench/quant.h"

namespace quench {

struct LayoutCase {
  std::string name;
  at::Tensor x;
  QScheme scheme;
};

inline std::vector<LayoutCase> layout_cases(const std::string& format) {
  const at::Tensor image = at::randn({3, 8, 5, 7}, at::kFloat) * 3 + 0.5;
  const at::Tensor matrix = at::randn({12, 64}, at::kFloat);
  const auto scheme = [&](const char* rest) { return QScheme::parse(format + " " + rest); };
  return {
      {"tensor", image, scheme("tensor")},
      {"tensor, channels-last", image.contiguous(at::MemoryFormat::ChannelsLast), scheme("tensor")},
      {"tensor, strided", at::randn({6, 9}).t().slice(0, 0, 9, 2), scheme("tensor")},
      {"one element", at::randn({1}), scheme("tensor")},
      {"scalar", at::randn({}), scheme("tensor")},
      {"long", at::randn({100003}), scheme("tensor")},
      {"weight rows", matrix, scheme("channel:0")},
      {"weight columns", matrix, scheme("channel:1")},
      {"activations", image, scheme("channel:1")},
      {"activations, channels-last", image.contiguous(at::MemoryFormat::ChannelsLast), scheme("channel:1")},
      {"activations, permuted", image.permute({2, 1, 3, 0}), scheme("channel:1")},
      {"activations, sliced", image.slice(3, 1, 6), scheme("channel:1")},
      {"last axis", image, scheme("channel:-1")},
      {"one channel", at::randn({4, 1, 6}), scheme("channel:1")},
      {"many channels-last", at::randn({2, 300, 9, 9}).contiguous(at::MemoryFormat::ChannelsLast), scheme("channel:1")},
      {"large planes", at::randn({2, 3, 130, 70}), scheme("channel:1")},
      {"groups", matrix, scheme("group:1:16")},
      {"groups of the first axis", matrix, scheme("group:0:4")},
      {"groups inside", image, scheme("group:1:4")},
      {"groups of a transposed matrix", matrix.t(), scheme("group:1:4")},
  };
}

// {entries, elements of the entry}, entries in the order of the scales: by ATen's own reshaping.
inline at::Tensor rows_by_aten(const at::Tensor& x, const QScheme& scheme) {
  if (scheme.per_tensor()) return x.reshape({1, -1});
  const int axis = scheme.axis_of(static_cast<int>(x.dim()));
  if (scheme.granularity() == Granularity::kChannel) return x.movedim(axis, 0).reshape({x.size(axis), -1});
  const at::Tensor split = x.unflatten(axis, std::vector<std::int64_t>{x.size(axis) / scheme.group(), scheme.group()});
  return split.movedim(axis + 1, -1).reshape({-1, scheme.group()});
}

}  // namespace quench
