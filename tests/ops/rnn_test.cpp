#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "ops/checked_op.h"

namespace quench {
namespace {

using Ints = std::vector<std::int64_t>;
using Strings = std::vector<std::string>;

constexpr std::int64_t kSteps = 5, kBatch = 3, kInputs = 4, kHidden = 6;

at::Tensor random(Ints shape) { return at::randn(shape, at::kDouble) * 0.5; }

// LibTorch's gates from ONNX's: blocks of rows in another order.
at::Tensor reorder(const at::Tensor& rows, const Ints& order) {
  const auto blocks = rows.chunk(static_cast<std::int64_t>(order.size()), 0);
  std::vector<at::Tensor> result;
  for (const std::int64_t i : order) result.push_back(blocks[static_cast<std::size_t>(i)]);
  return at::cat(result);
}

struct Layer {
  std::int64_t gates, directions;
  at::Tensor x = random({kSteps, kBatch, kInputs});
  at::Tensor w = random({directions, gates* kHidden, kInputs}), r = random({directions, gates* kHidden, kHidden});
  at::Tensor b = random({directions, 2 * gates* kHidden}), h = random({directions, kBatch, kHidden});
  at::Tensor c = random({directions, kBatch, kHidden});

  std::vector<RtValue> inputs(bool cell) const {
    std::vector<RtValue> list{x, w, r, b, RtValue(), h};
    if (cell) list.emplace_back(c);
    return list;
  }
  std::vector<at::Tensor> torch_weights(const Ints& order) const {
    std::vector<at::Tensor> list;
    for (std::int64_t d = 0; d < directions; ++d) {
      const auto biases = b[d].chunk(2, 0);
      for (const at::Tensor& t : {w[d], r[d], biases[0], biases[1]}) list.push_back(reorder(t, order));
    }
    return list;
  }
};

// [T, B, D * H] -> [T, D, B, H]
at::Tensor onnx_layout(const at::Tensor& y, std::int64_t directions) {
  return y.reshape({kSteps, kBatch, directions, kHidden}).transpose(1, 2);
}

TEST(LSTM, IsLibTorchs) {
  for (const std::int64_t directions : {1, 2}) {
    const Layer layer{4, directions};
    const Attr direction = directions == 2 ? "bidirectional" : "forward";
    const auto results = CheckedOp{"LSTM", {{"direction", direction}}, 3}(layer.inputs(true));
    const auto [y, h, c] = at::lstm(layer.x, {layer.h, layer.c}, layer.torch_weights({0, 2, 3, 1}), true, 1, 0.0, false,
                                    directions == 2, false);
    EXPECT_LT(distance(results[0].tensor(), onnx_layout(y, directions)), 1e-12);
    EXPECT_LT(distance(results[1].tensor(), h), 1e-12);
    EXPECT_LT(distance(results[2].tensor(), c), 1e-12);
  }
}

TEST(GRU, IsLibTorchsWithLinearBeforeReset) {
  const Layer layer{3, 2};
  const Attrs attrs{{"direction", "bidirectional"}, {"linear_before_reset", std::int64_t{1}}};
  const auto results = CheckedOp{"GRU", attrs, 2}(layer.inputs(false));
  const auto [y, h] = at::gru(layer.x, layer.h, layer.torch_weights({1, 0, 2}), true, 1, 0.0, false, true, false);
  EXPECT_LT(distance(results[0].tensor(), onnx_layout(y, 2)), 1e-12);
  EXPECT_LT(distance(results[1].tensor(), h), 1e-12);
}

TEST(GRU, ResetsBeforeTheProductByDefault) {
  const Layer layer{3, 1};
  const at::Tensor y = run_checked("GRU", layer.inputs(false));
  const auto w = layer.w[0].chunk(3, 0), r = layer.r[0].chunk(3, 0), b = layer.b[0].chunk(6, 0);
  at::Tensor h = layer.h[0];
  for (std::int64_t t = 0; t < kSteps; ++t) {
    const at::Tensor x = layer.x[t];
    const at::Tensor z = at::sigmoid(at::mm(x, w[0].t()) + at::mm(h, r[0].t()) + b[0] + b[3]);
    const at::Tensor reset = at::sigmoid(at::mm(x, w[1].t()) + at::mm(h, r[1].t()) + b[1] + b[4]);
    const at::Tensor n = at::tanh(at::mm(x, w[2].t()) + at::mm(reset * h, r[2].t()) + b[2] + b[5]);
    h = (1 - z) * n + z * h;
    EXPECT_LT(distance(y[t][0], h), 1e-12);
  }
}

TEST(RNN, ReversesAndTakesOtherActivations) {
  const Layer layer{1, 1};
  const Attrs attrs{{"direction", "reverse"},
                    {"activations", Strings{"ScaledTanh"}},
                    {"activation_alpha", std::vector<double>{2.0}},
                    {"activation_beta", std::vector<double>{0.5}}};
  const at::Tensor y = run_checked("RNN", layer.inputs(false), attrs);
  const auto b = layer.b[0].chunk(2, 0);
  at::Tensor h = layer.h[0];
  for (std::int64_t t = kSteps - 1; t >= 0; --t) {
    h = 2 * at::tanh((at::mm(layer.x[t], layer.w[0].t()) + at::mm(h, layer.r[0].t()) + b[0] + b[1]) * 0.5);
    EXPECT_LT(distance(y[t][0], h), 1e-12);
  }
}

// Each sequence alone, cut to its length, must give what the padded batch gives.
TEST(LSTM, StopsEachSequenceAtItsLength) {
  const Layer layer{4, 2};
  const Attrs attrs{{"direction", "bidirectional"}};
  std::vector<RtValue> inputs = layer.inputs(true);
  const Ints lengths{5, 2, 3};
  inputs[4] = at::tensor(lengths, at::kInt);
  const auto results = CheckedOp{"LSTM", attrs, 3}(inputs);
  for (std::int64_t i = 0; i < kBatch; ++i) {
    const std::int64_t length = lengths[static_cast<std::size_t>(i)];
    const auto alone =
        CheckedOp{"LSTM", attrs, 3}({layer.x.narrow(0, 0, length).narrow(1, i, 1), layer.w, layer.r, layer.b, RtValue(),
                                     layer.h.narrow(1, i, 1), layer.c.narrow(1, i, 1)});
    const at::Tensor own = results[0].tensor().narrow(2, i, 1);
    EXPECT_LT(distance(own.narrow(0, 0, length), alone[0].tensor()), 1e-12);
    EXPECT_EQ(own.narrow(0, length, kSteps - length).abs().sum().item<double>(), 0.0);
    EXPECT_LT(distance(results[1].tensor().narrow(1, i, 1), alone[1].tensor()), 1e-12);
    EXPECT_LT(distance(results[2].tensor().narrow(1, i, 1), alone[2].tensor()), 1e-12);
  }
}

TEST(LSTM, PeepholesClipAndCouplingFollowTheDefinition) {
  const Layer layer{4, 1};
  std::vector<RtValue> inputs = layer.inputs(true);
  const at::Tensor p = random({1, 3 * kHidden});
  inputs.emplace_back(p);
  const at::Tensor y = run_checked("LSTM", inputs, {{"clip", 0.3}, {"input_forget", std::int64_t{1}}});
  const auto peep = p[0].chunk(3, 0), b = layer.b[0].chunk(2, 0);
  at::Tensor h = layer.h[0], c = layer.c[0];
  const auto kept = [](const at::Tensor& t) { return t.clamp(-0.3, 0.3); };
  for (std::int64_t t = 0; t < kSteps; ++t) {
    const auto gates = (at::mm(layer.x[t], layer.w[0].t()) + at::mm(h, layer.r[0].t()) + b[0] + b[1]).chunk(4, -1);
    const at::Tensor input = at::sigmoid(kept(gates[0] + peep[0] * c));
    c = (1 - input) * c + input * at::tanh(kept(gates[3]));
    h = at::sigmoid(kept(gates[1] + peep[1] * c)) * at::tanh(c);
    EXPECT_LT(distance(y[t][0], h), 1e-12);
  }
}

TEST(LSTM, BatchFirstIsATransposedView) {
  const Layer layer{4, 2};
  const Attrs attrs{{"direction", "bidirectional"}};
  Attrs first = attrs;
  first["layout"] = std::int64_t{1};
  const auto expected = CheckedOp{"LSTM", attrs, 3}(layer.inputs(true));
  const auto results = CheckedOp{"LSTM", first, 3}({layer.x.transpose(0, 1), layer.w, layer.r, layer.b, RtValue(),
                                                    layer.h.transpose(0, 1), layer.c.transpose(0, 1)});
  EXPECT_LT(distance(results[0].tensor(), expected[0].tensor().permute({2, 0, 1, 3})), 1e-12);
  EXPECT_LT(distance(results[2].tensor(), expected[2].tensor().transpose(0, 1)), 1e-12);
}

TEST(Recurrent, HasItsGradientAndNamesMistakes) {
  const Layer lstm{4, 1}, gru{3, 1};
  EXPECT_LT(gradient_error({"LSTM", {}}, lstm.inputs(true), 4), 1e-6);
  EXPECT_LT(gradient_error({"GRU", {}}, gru.inputs(false), 4), 1e-6);
  EXPECT_NE(error_of({"GRU", {{"activations", Strings{"Sigmoid", "Sine"}}}}, gru.inputs(false))
                .find("unknown activation 'sine'; known: affine"),
            std::string::npos);
  EXPECT_NE(error_of({"GRU", {{"direction", "backward"}}}, gru.inputs(false)).find("known: forward, reverse"),
            std::string::npos);
  EXPECT_NE(error_of({"GRU", {}}, lstm.inputs(false)).find("weights must be [1, 3 * hidden, inputs]"),
            std::string::npos);
}

}  // namespace
}  // namespace quench
