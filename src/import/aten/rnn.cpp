// lstm, gru and rnn -> one LSTM, GRU or RNN node per layer. LibTorch orders the gates differently, so the module's own
// weights are split and joined again by nodes: they stay shared and trainable.
#include <ATen/ATen.h>

#include "import/aten/aten.h"
#include "quench/error.h"

namespace quench {
namespace {

using Ints = std::vector<std::int64_t>;

struct Recurrence {
  const char* op;
  Ints order;  // ONNX's gate i is LibTorch's order[i]
  int states;  // hidden, or hidden and cell
  Attrs attrs;
};

Recurrence recurrence_of(const std::string& kind) {
  if (kind == "lstm") return {"LSTM", {0, 3, 1, 2}, 2, {}};  // i f g o -> i o f c
  if (kind != "gru") return {"RNN", {0}, 1, {}};
  return {"GRU", {1, 0, 2}, 1, {{"linear_before_reset", std::int64_t{1}}}};  // r z n -> z r h
}

// Gates along axis 0, in ONNX's order.
Value& reorder(AtenCall& call, Value& weight, const Ints& order) {
  if (order.size() == 1) return weight;
  Node& split = call.graph().add("Split", call.graph().unique_name(concat(weight.name(), ".gates")), {&weight},
                                 static_cast<int>(order.size()));
  split.attrs = {{"axis", std::int64_t{0}}, {"num_outputs", static_cast<std::int64_t>(order.size())}};
  Values gates;
  for (const std::int64_t from : order) gates.push_back(&split.output(static_cast<int>(from)));
  return call.aux("Concat", gates, {{"axis", std::int64_t{0}}});
}

class RnnMapper {
 public:
  explicit RnnMapper(AtenCall& call)
      : call_(call),
        recurrence_(recurrence_of(call.kind())),
        biased_(call.flag("has_biases")),
        directions_(call.flag("bidirectional") ? 2 : 1),
        states_(call.kind() == "lstm" ? call.tensors("hx") : Values{&call.tensor("hx")}),
        weights_(call.tensors("params")) {}

  Values map() {
    const std::int64_t layers = call_.integer("num_layers");
    const auto per_direction = static_cast<std::size_t>(biased_ ? 4 : 2);
    QUENCH_CHECK(weights_.size() == static_cast<std::size_t>(layers) * directions_ * per_direction, call_.where(),
                 ": projections are not supported");
    const bool batch_first = call_.flag("batch_first");
    Value* x = &call_.tensor("input");
    QUENCH_CHECK(x->rank() == 3, call_.where(), ": the input must have a batch dimension");
    if (batch_first) x = &call_.transpose(*x, {1, 0, 2});
    std::vector<Values> finals(states_.size());
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      if (layer > 0 && call_.real("dropout", 0.0) > 0.0)
        x = &call_.aux("Dropout", {x, &call_.scalar(call_.real("dropout", 0.0), DType::kFloat)});
      x = &add_layer(*x, layer, finals);
    }
    if (batch_first) x = &call_.transpose(*x, {1, 0, 2});
    Values results{x};
    for (const Values& state : finals)
      results.push_back(state.size() == 1 ? state[0] : &call_.aux("Concat", state, {{"axis", std::int64_t{0}}}));
    return results;
  }

 private:
  // [steps, batch, in] -> [steps, batch, directions * hidden]
  Value& add_layer(Value& x, std::int64_t layer, std::vector<Values>& finals) {
    Values inputs{&x, &stacked(layer, 0), &stacked(layer, 1), biased_ ? &biases(layer) : nullptr, nullptr};
    for (Value* state : states_) inputs.push_back(&state_of_layer(*state, layer));
    Attrs attrs = recurrence_.attrs;
    attrs["hidden_size"] = hidden_size();
    if (directions_ == 2) attrs["direction"] = std::string("bidirectional");
    if (call_.kind() == "rnn_relu") attrs["activations"] = std::vector<std::string>(directions_, "Relu");
    Node& node = call_.make_node(recurrence_.op, inputs, 1 + recurrence_.states, attrs);
    for (std::size_t i = 0; i < finals.size(); ++i) finals[i].push_back(&node.output(static_cast<int>(i) + 1));
    Value& turned = call_.transpose(node.output(0), {0, 2, 1, 3});
    return call_.aux("Reshape", {&turned, &call_.integers_constant({0, 0, -1})});
  }

  std::int64_t hidden_size() const { return weights_.at(1)->dims().at(1).number(); }

  Value* weight(std::int64_t layer, std::size_t direction, std::size_t which) const {
    const std::size_t per_direction = biased_ ? 4 : 2;
    return weights_.at((static_cast<std::size_t>(layer) * directions_ + direction) * per_direction + which);
  }

  Value& with_direction(Value& value) { return call_.aux("Unsqueeze", {&value, &call_.integers_constant({0})}); }

  Value& join(const Values& parts) {
    return parts.size() == 1 ? *parts[0] : call_.aux("Concat", parts, {{"axis", std::int64_t{0}}});
  }

  Value& stacked(std::int64_t layer, std::size_t which) {
    Values parts;
    for (std::size_t direction = 0; direction < directions_; ++direction)
      parts.push_back(&with_direction(reorder(call_, *weight(layer, direction, which), recurrence_.order)));
    return join(parts);
  }

  Value& biases(std::int64_t layer) {
    Values parts;
    for (std::size_t direction = 0; direction < directions_; ++direction) {
      Value& of_input = reorder(call_, *weight(layer, direction, 2), recurrence_.order);
      Value& of_hidden = reorder(call_, *weight(layer, direction, 3), recurrence_.order);
      parts.push_back(&with_direction(call_.aux("Concat", {&of_input, &of_hidden}, {{"axis", std::int64_t{0}}})));
    }
    return join(parts);
  }

  Value& state_of_layer(Value& state, std::int64_t layer) {
    const auto count = static_cast<std::int64_t>(directions_);
    return call_.aux("Slice", {&state, &call_.integers_constant({layer * count}),
                               &call_.integers_constant({(layer + 1) * count}), &call_.integers_constant({0})});
  }

  AtenCall& call_;
  Recurrence recurrence_;
  bool biased_;
  std::size_t directions_;
  Values states_;
  Values weights_;
};

Values map_rnn(AtenCall& call) {
  QUENCH_CHECK(!call.args.contains("batch_sizes"), call.where(), ": packed sequences are not supported");
  return RnnMapper(call).map();
}

}  // namespace

QUENCH_REGISTER_ATEN_LAYER("lstm", map_rnn, "LSTM")
QUENCH_REGISTER_ATEN_LAYER("gru", map_rnn, "GRU")
QUENCH_REGISTER_ATEN_LAYER("rnn_tanh", map_rnn, "RNN")
QUENCH_REGISTER_ATEN_LAYER("rnn_relu", map_rnn, "RNN")

}  // namespace quench
