// torch::nn::Module in: from_module traces any module into a Graph that shares its parameters
// and buffers, so that training the graph trains the module. With zoo_net.h the only public header that
// includes LibTorch's.
//
//   auto net = std::make_shared<Net>();
//   quench::Graph graph = quench::from_module(net, {torch::randn({1, 3, 32, 32})});
#pragma once

#include <torch/nn/module.h>

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "quench/error.h"
#include "quench/graph.h"
#include "quench/leaf.h"

namespace quench {

struct ModuleImportOptions {
  // For each input, its dims that may change, with their symbols: {{{0, "N"}}, {{0, "N"}, {1, "T"}}}.
  // Empty: dim 0 of the first input, and of those others whose dim 0 has the same size, is "N".
  std::vector<std::map<int, std::string>> dynamic_dims = {};
  std::vector<std::string> input_names = {};   // default: "input", or "input_0", "input_1", ...
  std::vector<std::string> output_names = {};  // default: the name of the node that makes it
  std::string name = {};                       // of the graph
  bool check = true;                           // compare graph and module on further inputs
};

using ModuleForward = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)>;

// Traces `forward` of `module` in evaluation mode on the examples, on the examples repeated along their
// dynamic dims, and on random inputs. The module is left bit for bit as it was. What cannot be traced
// (data-dependent control flow, operators without a counterpart, writes into buffers) is an error that
// names the operator and the layer.
Graph import_module(torch::nn::Module& module, const ModuleForward& forward,
                    const std::vector<at::Tensor>& example_inputs, const ModuleImportOptions& options = {});

// Sets a module's training flag; at its end every submodule gets its own back.
class TrainingMode {
 public:
  TrainingMode(torch::nn::Module& module, bool training);
  ~TrainingMode();
  TrainingMode(const TrainingMode&) = delete;
  TrainingMode& operator=(const TrainingMode&) = delete;

 private:
  std::vector<std::pair<std::shared_ptr<torch::nn::Module>, bool>> flags_;
  torch::nn::Module& module_;
  bool own_flag_;
};

namespace detail {

inline void flatten_result(const at::Tensor& tensor, std::vector<at::Tensor>& flat) {
  if (tensor.defined()) flat.push_back(tensor);  // an undefined one is an optional result that is absent
}
template <typename T>
void flatten_result(const std::vector<T>& list, std::vector<at::Tensor>& flat) {
  for (const T& element : list) flatten_result(element, flat);
}
template <typename A, typename B>
void flatten_result(const std::pair<A, B>& two, std::vector<at::Tensor>& flat);
template <typename... T>
void flatten_result(const std::tuple<T...>& several, std::vector<at::Tensor>& flat) {
  std::apply([&](const auto&... element) { (flatten_result(element, flat), ...); }, several);
}
template <typename A, typename B>
void flatten_result(const std::pair<A, B>& two, std::vector<at::Tensor>& flat) {
  flatten_result(std::tie(two.first, two.second), flat);
}

template <typename M, std::size_t... I>
bool call_forward(M& module, const std::vector<at::Tensor>& inputs, std::vector<at::Tensor>& flat,
                  std::index_sequence<I...>) {
  if constexpr (requires { module.forward(inputs[I]...); }) {
    if (inputs.size() != sizeof...(I)) return false;
    flatten_result(module.forward(inputs[I]...), flat);
    return true;
  }
  return false;
}

template <typename M>
std::vector<at::Tensor> forward_tensors(M& module, const std::vector<at::Tensor>& inputs) {
  std::vector<at::Tensor> flat;
  const bool called = [&]<std::size_t... N>(std::index_sequence<N...>) {
    return (call_forward(module, inputs, flat, std::make_index_sequence<N + 1>()) || ...);
  }(std::make_index_sequence<8>());
  if (called) return flat;
  if constexpr (requires { module.forward(inputs); }) {
    flatten_result(module.forward(inputs), flat);
    return flat;
  }
  fail("the module's forward cannot be called with ", inputs.size(), " tensors");
}

// A module, a shared pointer to one, or a ModuleHolder (torch::nn::Linear) -> the module.
template <typename M>
auto& module_of(M& module) {
  if constexpr (std::is_base_of_v<torch::nn::Module, M>)
    return module;
  else
    return *module;
}

}  // namespace detail

// `module` is a module, a shared pointer to one or a ModuleHolder; its forward takes as many tensors as
// there are examples (or a vector of them) and returns a tensor, or a tuple or vector of tensors.
template <typename M>
Graph from_module(M&& module, const std::vector<at::Tensor>& example_inputs, const ModuleImportOptions& options = {}) {
  auto& concrete = detail::module_of(module);
  const ModuleForward forward = [&](const std::vector<at::Tensor>& inputs) {
    return detail::forward_tensors(concrete, inputs);
  };
  return import_module(concrete, forward, example_inputs, options);
}

// Keeps a module opaque: the graph gets one node quench.Leaf, which calls it. Parameters train as usual;
// such a graph cannot be exported.
class Leaf : public torch::nn::Module {
 public:
  template <typename M>
  explicit Leaf(const M& module) {
    const std::shared_ptr<std::remove_reference_t<decltype(*module)>> inner = pointer(module);
    register_module("module", inner);
    function_ = std::make_shared<const LeafFunction>(
        [inner](const std::vector<at::Tensor>& inputs, std::optional<bool> training) {
          if (!training) return detail::forward_tensors(*inner, inputs);
          const TrainingMode mode(*inner, *training);
          return detail::forward_tensors(*inner, inputs);
        });
    number_ = add_leaf(function_);
  }

  at::Tensor forward(const at::Tensor& x) {
    const std::vector<at::Tensor> results = forward_all({x});
    if (results.size() != 1) fail("the leaf gives ", results.size(), " tensors: call forward_all");
    return results[0];
  }
  std::vector<at::Tensor> forward_all(const std::vector<at::Tensor>& inputs) { return call_leaf(number_, inputs); }
  std::int64_t number() const { return number_; }

 private:
  template <typename M>
  static std::shared_ptr<M> pointer(const std::shared_ptr<M>& module) {
    return module;
  }
  template <typename M>
  static auto pointer(const M& holder) -> decltype(holder.ptr()) {
    return holder.ptr();
  }

  std::shared_ptr<const LeafFunction> function_;
  std::int64_t number_ = -1;
};

// Mark where quantization begins and ends; the identity otherwise.
class QuantStub : public torch::nn::Module {
 public:
  at::Tensor forward(const at::Tensor& x) { return quant_stub(x); }
};
class DeQuantStub : public torch::nn::Module {
 public:
  at::Tensor forward(const at::Tensor& x) { return dequant_stub(x); }
};

// Arithmetic between tensors, for code that should read like PyTorch's; at::add and the like work as well.
class FloatFunctional : public torch::nn::Module {
 public:
  at::Tensor forward(const at::Tensor& x);  // throws: call one of those below instead
  at::Tensor add(const at::Tensor& a, const at::Tensor& b);
  at::Tensor mul(const at::Tensor& a, const at::Tensor& b);
  at::Tensor cat(const std::vector<at::Tensor>& tensors, std::int64_t dim = 0);
  at::Tensor add_relu(const at::Tensor& a, const at::Tensor& b);
  at::Tensor matmul(const at::Tensor& a, const at::Tensor& b);
  at::Tensor add_scalar(const at::Tensor& a, double b);
  at::Tensor mul_scalar(const at::Tensor& a, double b);
};

}  // namespace quench
