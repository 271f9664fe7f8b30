// A deployed network on codes: what convert makes of it (convert/convert_graph.h), under the runtime's rule, step by
// step. Every quantized activation is one step: its codes are computed from those of the steps before it, by an
// operator on codes, or, where the runtime has no integer kernel for it, in float from what the codes stand for.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "quant/requantize.h"
#include "quench/executor.h"
#include "quench/graph.h"

namespace quench {

class IntegerNetwork {
 public:
  // By the name of the quantizer's output.
  using Codes = std::map<std::string, at::Tensor>;

  // A graph with calibrated quantizers; it must outlive the network.
  IntegerNetwork(const Graph& graph, Requantize rule);
  ~IntegerNetwork();

  const std::vector<std::string>& names() const;     // in order of the graph
  const QType& type(const std::string& name) const;  // of codes
  const Node* layer(const std::string& name) const;  // what makes them; null: the graph's input alone
  bool is_exact(const std::string& name) const;      // by integers alone; else float32 sums are in it

  Codes run(const NamedValues& inputs) const;
  // Against another's codes: each layer on the given codes (`local`), and all layers in a row (`whole`).
  struct Runs;
  Runs run_beside(const NamedValues& inputs, const Codes& given) const;
  // The graph's outputs, in float.
  NamedValues outputs(const NamedValues& inputs, const Codes& codes) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct IntegerNetwork::Runs {
  Codes local, whole;
};

}  // namespace quench
