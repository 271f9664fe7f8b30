// One step of a recurrence: lstm_cell, gru_cell, rnn_tanh_cell, rnn_relu_cell -> Gemm and functions of the gates.
#include <ATen/ATen.h>

#include "import/aten/aten.h"

namespace quench {
namespace {

// x W^T + b of the input or of the state.
Value& gates(AtenCall& call, Value& x, const char* weight, const char* bias) {
  Values inputs{&x, &call.tensor(weight)};
  if (Value* given = call.tensor_or_null(bias)) inputs.push_back(given);
  return call.make("Gemm", inputs, {{"transB", std::int64_t{1}}});
}

Value& of_input(AtenCall& call) { return gates(call, call.tensor("input"), "w_ih", "b_ih"); }
Value& of_state(AtenCall& call, Value& state) { return gates(call, state, "w_hh", "b_hh"); }

Values split(AtenCall& call, Value& joined, int count) {
  Node& node =
      call.make_node("Split", {&joined}, count, {{"axis", std::int64_t{1}}, {"num_outputs", std::int64_t{count}}});
  return {node.outputs().begin(), node.outputs().end()};
}

// Gates in LibTorch's order: input, forget, cell, output.
Values map_lstm_cell(AtenCall& call) {
  const Values state = call.tensors("hx");
  const Values gate = split(call, call.aux("Add", {&of_input(call), &of_state(call, *state.at(0))}), 4);
  const auto open = [&](std::size_t i) -> Value& { return call.aux("Sigmoid", {gate[i]}); };
  Value& kept = call.aux("Mul", {&open(1), state.at(1)});
  Value& added = call.aux("Mul", {&open(0), &call.aux("Tanh", {gate[2]})});
  Value& cell = call.make("Add", {&kept, &added});
  return {&call.make("Mul", {&open(3), &call.aux("Tanh", {&cell})}), &cell};
}

// Gates in LibTorch's order: reset, update, new.
Values map_gru_cell(AtenCall& call) {
  Value& state = call.tensor("hx");
  const Values x = split(call, of_input(call), 3), h = split(call, of_state(call, state), 3);
  const auto open = [&](std::size_t i) -> Value& { return call.aux("Sigmoid", {&call.aux("Add", {x[i], h[i]})}); };
  Value& fresh = call.aux("Tanh", {&call.aux("Add", {x[2], &call.aux("Mul", {&open(0), h[2]})})});
  Value& kept = call.aux("Mul", {&open(1), &call.aux("Sub", {&state, &fresh})});
  return {&call.make("Add", {&fresh, &kept})};
}

Values map_rnn_cell(AtenCall& call) {
  Value& sum = call.aux("Add", {&of_input(call), &of_state(call, call.tensor("hx"))});
  return {&call.make(call.kind() == "rnn_relu_cell" ? "Relu" : "Tanh", {&sum})};
}

}  // namespace

QUENCH_REGISTER_ATEN_LAYER("lstm_cell", map_lstm_cell, "Gemm, Sigmoid, Tanh, Mul, Add")
QUENCH_REGISTER_ATEN_LAYER("gru_cell", map_gru_cell, "Gemm, Sigmoid, Tanh, Mul, Add")
QUENCH_REGISTER_ATEN_LAYER("rnn_tanh_cell", map_rnn_cell, "Gemm, Add, Tanh")
QUENCH_REGISTER_ATEN_LAYER("rnn_relu_cell", map_rnn_cell, "Gemm, Add, Relu")

}  // namespace quench
