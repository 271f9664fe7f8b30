// What stays opaque in a graph: a function that the operator quench.Leaf calls, and the stubs that mark
// where quantization begins and ends. quench/torch.h wraps both for torch::nn modules.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace at {
class Tensor;
}

namespace quench {

// `training` is unset when the function should run in the mode it is in.
using LeafFunction =
    std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>& inputs, std::optional<bool> training)>;

// The number by which traces and graphs refer to `function`. It lives as long as the pointer, or a graph
// that holds a node of it, does.
std::int64_t add_leaf(std::shared_ptr<const LeafFunction> function);
std::shared_ptr<const LeafFunction> find_leaf(std::int64_t number);  // throws when it is gone

// The dispatcher ops quench::leaf, quench::quant_stub and quench::dequant_stub: a tracer records each as
// one call; gradients pass through.
std::vector<at::Tensor> call_leaf(std::int64_t number, const std::vector<at::Tensor>& inputs);
at::Tensor quant_stub(const at::Tensor& x);
at::Tensor dequant_stub(const at::Tensor& x);

}  // namespace quench
