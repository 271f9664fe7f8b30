// Which layers of a graph compute on codes, for targets that decide this tensor by tensor.
//
// Products (Conv, Gemm, MatMul) and pools always read codes. An operator that only joins tensors (Add,
// Mul, Concat) does where its operands come in codes and its result does not go to norms and float sums alone.
// Elsewhere codes would have to be made for it alone, and eight bits would cost accuracy and save nothing: the residual
// stream of a transformer, its norms, activation functions, gates and rotary embeddings stay float, however they are
// spelled.
#pragma once

#include <set>
#include <string>

#include "quench/plan_builder.h"

namespace quench {

struct CodeOperators {
  std::set<std::string> products;   // always read codes
  std::set<std::string> to_float;   // of these, those whose integer kernel gives float
  std::set<std::string> joins;      // operators that combine tensors
  std::set<std::string> functions;  // functions of one tensor that the target computes on codes
};

class CodeFlow {
 public:
  CodeFlow(const PlanBuilder& plan, const CodeOperators& operators);

  bool computes_on_codes(const Layer& layer) const { return on_codes_.contains(&layer); }
  bool gives_codes(const Layer& layer) const;
  // Two activations whose product has short sums (the scores of small attention heads): it stays float.
  bool is_small_product(const Layer& layer) const;
  // Why such a layer, or one that joins tensors, stays float.
  std::string why_float(const Layer& layer) const;

 private:
  bool comes_in_codes(const Value& value) const;
  bool is_read_in_codes(const Value& value) const;
  bool passes(const Layer& layer) const;
  const Value* float_operand(const Layer& layer) const;

  const PlanBuilder& plan_;
  CodeOperators operators_;
  std::set<const Layer*> on_codes_;
};

}  // namespace quench
