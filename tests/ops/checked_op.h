// Runs one operator as a graph of one node. Every run also checks the shape function against what evaluation
// gave, with numbers for dims and with a symbol for the first dim of the first input.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "quench/graph.h"
#include "quench/rt_value.h"

namespace quench {

using Attrs = std::map<std::string, Attr>;

struct CheckedOp {
  std::string op;
  Attrs attrs;
  int outputs = 1;
  bool training = false;
  bool grad = false;
  bool frozen = false;
  const struct BatchShares* shares = nullptr;

  std::vector<RtValue> operator()(const std::vector<RtValue>& inputs) const;
  at::Tensor result(const std::vector<RtValue>& inputs) const;  // the first output
};

at::Tensor run_checked(const std::string& op, const std::vector<RtValue>& inputs, const Attrs& attrs = {});

// Largest difference of two tensors of one shape, in double; infinite when the shapes differ.
double distance(const at::Tensor& a, const at::Tensor& b);

// The analytic gradient of the first output, along a random direction in each of the first `slots` inputs
// (double), against central differences; returns the relative error.
double gradient_error(const CheckedOp& op, std::vector<RtValue> inputs, std::size_t slots);

// The message of the quench::Error that the run throws; "" when it throws none.
std::string error_of(const CheckedOp& op, const std::vector<RtValue>& inputs);

// The type that shape inference gives output 0 of a node with inputs of these types.
std::string inferred_type(const std::string& op, const std::vector<TypeInfo>& inputs, const Attrs& attrs = {});

}  // namespace quench
