// Recurrent layers: RNN, GRU, LSTM, unrolled over time, in every direction and layout.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "ops/arguments.h"
#include "ops/dynamic_codes.h"
#include "ops/macs.h"
#include "ops/rnn_activation.h"
#include "ops/shape_rules.h"
#include "quench/error.h"

namespace quench {
namespace {

// What one direction of a layer works with. Absent parts are undefined tensors.
struct Cell {
  at::Tensor w, r;      // [gates * H, I], [gates * H, H]
  at::Tensor wb, rb;    // [gates * H]
  at::Tensor peephole;  // [3 * H]: input, output, forget
  std::vector<RnnActivation> activations;
  std::int64_t hidden = 0;
  bool linear_before_reset = false, input_forget = false;
  bool dynamic = false;  // inputs and states are quantized by their own range before each product

  at::Tensor of_input(const at::Tensor& x) const {
    return at::linear(dynamic ? rounded(x) : x, w, wb.defined() ? std::optional(wb) : std::nullopt);
  }
  at::Tensor of_state(const at::Tensor& h) const {
    return at::linear(dynamic ? rounded(h) : h, r, rb.defined() ? std::optional(rb) : std::nullopt);
  }

 private:
  static at::Tensor rounded(const at::Tensor& x) {
    const auto [codes, scale, zero] = dynamic_codes(x);
    return (codes - zero) * scale;
  }
};

struct State {
  at::Tensor h, c;
};

State rnn_step(const Cell& cell, const at::Tensor& x, const State& state) {
  return {cell.activations[0](x + cell.of_state(state.h)), {}};
}

// Gates in ONNX's order: update, reset, hidden.
State gru_step(const Cell& cell, const at::Tensor& x, const State& state) {
  const auto given_x = x.chunk(3, -1);
  const auto &f = cell.activations[0], &g = cell.activations[1];
  at::Tensor hidden, update, reset;
  if (cell.linear_before_reset) {
    const auto of_h = cell.of_state(state.h).chunk(3, -1);
    update = f(given_x[0] + of_h[0]);
    reset = f(given_x[1] + of_h[1]);
    hidden = g(given_x[2] + reset * of_h[2]);
  } else {
    const auto r = cell.r.chunk(3, 0);
    const auto rb = cell.rb.defined() ? cell.rb.chunk(3, 0) : std::vector<at::Tensor>(3);
    const auto product = [&](const at::Tensor& h, std::size_t gate) {
      return at::linear(h, r[gate], rb[gate].defined() ? std::optional(rb[gate]) : std::nullopt);
    };
    update = f(given_x[0] + product(state.h, 0));
    reset = f(given_x[1] + product(state.h, 1));
    hidden = g(given_x[2] + product(reset * state.h, 2));
  }
  return {(1 - update) * hidden + update * state.h, {}};
}

// Gates in ONNX's order: input, output, forget, cell.
State lstm_step(const Cell& cell, const at::Tensor& x, const State& state) {
  const auto gates = (x + cell.of_state(state.h)).chunk(4, -1);
  const auto peepholes = cell.peephole.defined() ? cell.peephole.chunk(3, 0) : std::vector<at::Tensor>();
  const auto peek = [&](const at::Tensor& gate, std::size_t which, const at::Tensor& c) {
    return peepholes.empty() ? gate : gate + peepholes[which] * c;
  };
  const auto &f = cell.activations[0], &g = cell.activations[1], &h = cell.activations[2];
  const at::Tensor input = f(peek(gates[0], 0, state.c));
  const at::Tensor forget = cell.input_forget ? 1 - input : f(peek(gates[2], 2, state.c));
  const at::Tensor c = forget * state.c + input * g(gates[3]);
  const at::Tensor output = f(peek(gates[1], 1, c));
  return {output * h(c), c};
}

using Step = State (*)(const Cell&, const at::Tensor&, const State&);

struct Sequence {
  std::vector<at::Tensor> outputs;  // by time
  State last;
};

// Runs over time; where a sequence has ended its state stays and its output is zero.
Sequence run_direction(const Cell& cell, Step step, const at::Tensor& x, State state, const at::Tensor& lengths,
                       bool reverse) {
  const std::int64_t steps = x.size(0);
  Sequence result;
  result.outputs.resize(static_cast<std::size_t>(steps));
  const at::Tensor inputs = cell.of_input(x);
  for (std::int64_t i = 0; i < steps; ++i) {
    const std::int64_t t = reverse ? steps - 1 - i : i;
    State next = step(cell, inputs[t], state);
    at::Tensor shown = next.h;
    if (lengths.defined()) {
      const at::Tensor alive = (lengths > t).unsqueeze(1);
      shown = at::where(alive, next.h, at::zeros_like(next.h));
      next.h = at::where(alive, next.h, state.h);
      if (next.c.defined()) next.c = at::where(alive, next.c, state.c);
    }
    result.outputs[static_cast<std::size_t>(t)] = shown;
    state = next;
  }
  result.last = state;
  return result;
}

struct Layer {
  Step step;
  std::int64_t gates;
  std::vector<std::string> activations;
  bool has_cell;
  bool dynamic = false;
};

struct Direction {
  std::int64_t index;
  bool reverse;
};

std::vector<Direction> directions_of(const Node& node) {
  const std::string name = node.get_string("direction", "forward");
  if (name == "forward") return {{0, false}};
  if (name == "reverse") return {{0, true}};
  QUENCH_CHECK(name == "bidirectional", node.where(), ": unknown direction '", name,
               "'; known: forward, reverse, bidirectional");
  return {{0, false}, {1, true}};
}

Cell cell_of(const Node& node, const Inputs& in, const Layer& layer, std::int64_t direction) {
  Cell cell;
  cell.w = in[1].tensor()[direction];
  cell.r = in[2].tensor()[direction];
  cell.hidden = cell.r.size(-1);
  cell.dynamic = layer.dynamic;
  if (given(in, 3)) {
    const auto halves = in[3].tensor()[direction].chunk(2, 0);
    cell.wb = halves[0];
    cell.rb = halves[1];
  }
  if (layer.has_cell && given(in, 7)) cell.peephole = in[7].tensor()[direction];
  cell.activations = rnn_activations(node, layer.activations, static_cast<std::size_t>(direction));
  cell.linear_before_reset = node.get_int("linear_before_reset", 0) != 0;
  cell.input_forget = node.get_int("input_forget", 0) != 0;
  return cell;
}

// The initial state of a direction [B, H], by the layout; zeros where absent.
at::Tensor initial(const Inputs& in, std::size_t slot, const Cell& cell, std::int64_t direction, bool batch_first,
                   const at::Tensor& x) {
  if (!given(in, slot)) return at::zeros({x.size(1), cell.hidden}, x.options());
  return in[slot].tensor().select(batch_first ? 1 : 0, direction);
}

std::vector<RtValue> run_layer(const Node& node, const Inputs& in, const Layer& layer) {
  const bool batch_first = node.get_int("layout", 0) != 0;
  const at::Tensor x = batch_first ? in[0].tensor().transpose(0, 1) : in[0].tensor();  // [T, B, I]
  QUENCH_CHECK(x.dim() == 3, node.where(), ": data must have rank 3, not ", x.dim());
  const std::vector<Direction> directions = directions_of(node);
  QUENCH_CHECK(in[1].tensor().dim() == 3 && in[1].tensor().size(0) == static_cast<std::int64_t>(directions.size()) &&
                   in[1].tensor().size(1) == layer.gates * in[2].tensor().size(-1),
               node.where(), ": weights must be [", directions.size(), ", ", layer.gates, " * hidden, inputs]");
  const at::Tensor lengths = tensor_or_undefined(in, 4);
  std::vector<at::Tensor> outputs, hidden, memory;
  for (const Direction& direction : directions) {
    const Cell cell = cell_of(node, in, layer, direction.index);
    State state{initial(in, 5, cell, direction.index, batch_first, x), {}};
    if (layer.has_cell) state.c = initial(in, 6, cell, direction.index, batch_first, x);
    const Sequence sequence = run_direction(cell, layer.step, x, state, lengths, direction.reverse);
    outputs.push_back(at::stack(sequence.outputs));
    hidden.push_back(sequence.last.h);
    if (layer.has_cell) memory.push_back(sequence.last.c);
  }
  const std::int64_t axis = batch_first ? 1 : 0;
  const at::Tensor y = at::stack(outputs, 1);  // [T, D, B, H]
  std::vector<RtValue> results{batch_first ? y.permute({2, 0, 1, 3}) : y, at::stack(hidden, axis)};
  if (layer.has_cell) results.push_back(at::stack(memory, axis));
  return results;
}

std::vector<RtValue> rnn(const Node& node, const Inputs& in, ExecContext&) {
  return run_layer(node, in, {rnn_step, 1, {"Tanh"}, false});
}
std::vector<RtValue> gru(const Node& node, const Inputs& in, ExecContext&) {
  return run_layer(node, in, {gru_step, 3, {"Sigmoid", "Tanh"}, false});
}
std::vector<RtValue> lstm(const Node& node, const Inputs& in, ExecContext&) {
  return run_layer(node, in, {lstm_step, 4, {"Sigmoid", "Tanh", "Tanh"}, true});
}

// ONNX Runtime's, whose weights are codes [directions, inputs, gates * H] with one scale per direction or column.
at::Tensor dequantized_weight(const Node& node, const Inputs& in, std::size_t slot, std::size_t scale_slot) {
  const at::Tensor& codes = in[slot].tensor();
  QUENCH_CHECK(codes.dim() == 3, node.where(), ": weights must have rank 3, not ", codes.dim());
  const auto spread = [&](const at::Tensor& tensor) {
    const at::Tensor wide = tensor.to(at::kFloat);
    QUENCH_CHECK(wide.dim() == 1 || wide.dim() == 2, node.where(), ": scales of rank ", wide.dim());
    return wide.dim() == 1 ? wide.view({-1, 1, 1}) : wide.unsqueeze(1);
  };
  const at::Tensor zero = given(in, scale_slot + 1) ? spread(in[scale_slot + 1].tensor()) : at::zeros({1});
  return ((codes.to(at::kFloat) - zero) * spread(in[scale_slot].tensor())).transpose(1, 2);
}

std::vector<RtValue> dynamic_quantize_lstm(const Node& node, const Inputs& in, ExecContext&) {
  Inputs as_float(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(in.size(), 8)));
  as_float.at(1) = dequantized_weight(node, in, 1, 8);
  as_float.at(2) = dequantized_weight(node, in, 2, 10);
  return run_layer(node, as_float, {lstm_step, 4, {"Sigmoid", "Tanh", "Tanh"}, true, true});
}

void layer_shapes(Node& node) {
  const DType dtype = input_dtype(node, 0);
  const std::optional<Dims> x = input_dims(node, 0), r = input_dims(node, 2);
  if (!x || x->size() != 3) {
    for (int i = 0; i < 3; ++i) set_type(node, i, dtype, std::nullopt);
    return;
  }
  const bool batch_first = node.get_int("layout", 0) != 0;
  const Dim count(static_cast<std::int64_t>(directions_of(node).size()));
  const Dim steps = (*x)[batch_first ? 1 : 0], batch = (*x)[batch_first ? 0 : 1];
  const bool turned = node.op() == "com.microsoft.DynamicQuantizeLSTM";  // [directions, H, gates * H]
  Dim hidden = r && r->size() == 3 ? (*r)[turned ? 1 : 2] : Dim();
  if (hidden.is_unknown() && node.has("hidden_size")) hidden = Dim(node.require_int("hidden_size"));
  set_type(node, 0, dtype, batch_first ? Dims{batch, steps, count, hidden} : Dims{steps, count, batch, hidden});
  for (int i = 1; i < 3; ++i)
    set_type(node, i, dtype, batch_first ? Dims{batch, count, hidden} : Dims{count, batch, hidden});
}

int gate_axis(const Node&) { return 1; }

OpTraits layer_traits(std::vector<int> parameters) {
  OpTraits traits;
  traits.weight_slot = 1;
  traits.weight_axis = gate_axis;
  traits.bias_slot = 3;
  traits.channel_axis = -1;
  traits.parameter_slots = std::move(parameters);
  traits.macs = recurrent_macs;
  return traits;
}

}  // namespace

QUENCH_REGISTER_OP("RNN", rnn, layer_shapes, layer_traits({1, 2, 3}), "plain recurrent layer")
QUENCH_REGISTER_OP("GRU", gru, layer_shapes, layer_traits({1, 2, 3}), "gated recurrent layer")
QUENCH_REGISTER_OP("LSTM", lstm, layer_shapes, layer_traits({1, 2, 3, 7}), "long short-term memory layer")
QUENCH_REGISTER_OP("com.microsoft.DynamicQuantizeLSTM", dynamic_quantize_lstm, layer_shapes, with_macs(recurrent_macs),
                   "LSTM with weights of 8 bits, its inputs quantized by their own range")

}  // namespace quench
