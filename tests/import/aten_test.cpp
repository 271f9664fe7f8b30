// The table of LibTorch's operators: each function is imported, checked by the importer at two further
// inputs, and compared once more at a batch size that was never traced.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/modules/rnn.h>

#include <limits>

#include "quench/error.h"
#include "quench/executor.h"
#include "quench/torch.h"

namespace quench {
namespace {

using Function = std::function<at::Tensor(const at::Tensor&)>;

struct Wrapped : torch::nn::Module {
  explicit Wrapped(Function f) : function(std::move(f)) {}
  at::Tensor forward(const at::Tensor& x) { return function(x); }
  Function function;
};

struct Case {
  const char* name;
  Function function;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class AtenTable : public testing::TestWithParam<Case> {};

void expect_same(const Function& function, const std::vector<std::int64_t>& tail) {
  const auto input = [&](std::int64_t batch) {
    std::vector<std::int64_t> sizes{batch};
    sizes.insert(sizes.end(), tail.begin(), tail.end());
    return at::rand(sizes) * 2 - 0.9;
  };
  Wrapped module(function);
  const Graph graph = from_module(module, {input(2)});
  const at::Tensor x = input(7);
  const at::NoGradGuard no_grad;
  const at::Tensor expected = function(x.clone());
  const at::Tensor actual = Executor(graph).run({RtValue(x)})[0].tensor();
  EXPECT_EQ(actual.scalar_type(), expected.scalar_type());
  EXPECT_TRUE(at::allclose(actual.to(at::kDouble), expected.to(at::kDouble), 1e-5, 1e-5, true))
      << (actual.to(at::kDouble) - expected.to(at::kDouble)).abs().max();
}

TEST_P(AtenTable, GraphEqualsModule) { expect_same(GetParam().function, {4, 6, 6}); }

using T = const at::Tensor&;
// Made before any trace: a tensor made inside would be recorded as a call.
const at::Tensor kWeight = at::ones({8, 4, 3, 3}).cumsum(0).cumsum(3) * 0.01;

// clang-format off
const Case kCases[] = {
    {"conv2d", [](T x) { return at::conv2d(x, kWeight, {}, {2, 1}, {1, 0}, {1, 2}); }},
    {"conv2d_same", [](T x) { return at::conv2d(x, kWeight, {}, at::IntArrayRef{1, 1}, "same"); }},
    {"conv2d_groups", [](T x) { return at::conv2d(x, at::ones({4, 1, 3, 3}), at::ones({4}), 1, 1, 1, 4); }},
    {"conv1d", [](T x) { return at::conv1d(x.flatten(2), at::ones({3, 4, 5}), {}, 2); }},
    {"conv_transpose2d", [](T x) { return at::conv_transpose2d(x, kWeight.transpose(0, 1).contiguous(), {}, 2, 1, 1); }},
    {"max_pool2d", [](T x) { return at::max_pool2d(x, {3, 2}, {2, 2}, {1, 0}, 1, true); }},
    {"avg_pool2d", [](T x) { return at::avg_pool2d(x, 3, 2, 1, false, false); }},
    {"adaptive_avg_pool2d_1", [](T x) { return at::adaptive_avg_pool2d(x, {1, 1}); }},
    {"adaptive_avg_pool2d_3", [](T x) { return at::adaptive_avg_pool2d(x, {3, 2}); }},
    {"adaptive_avg_pool2d_uneven", [](T x) { return at::adaptive_avg_pool2d(x, {4, 5}); }},
    {"adaptive_avg_pool1d_uneven", [](T x) { return at::adaptive_avg_pool1d(x.select(1, 0), {4}); }},
    {"adaptive_max_pool2d", [](T x) { return std::get<0>(at::adaptive_max_pool2d(x, {1, 1})); }},
    {"relu6", [](T x) { return at::relu6(x * 8); }},
    {"hardtanh", [](T x) { return at::hardtanh(x, -0.5, 0.7); }},
    {"clamp", [](T x) { return x.clamp(-0.1, 0.4) + x.clamp_min(0.2) + x.clamp_max(0.3); }},
    {"sigmoid_tanh", [](T x) { return x.sigmoid() * x.tanh(); }},
    {"gelu", [](T x) { return at::gelu(x) + at::gelu(x, "tanh"); }},
    {"silu", [](T x) { return at::silu(x); }},
    {"hardswish", [](T x) { return at::hardswish(x * 5) + at::hardsigmoid(x * 5); }},
    {"elu", [](T x) { return at::elu(x, 0.7) + at::selu(x) + at::celu(x, 0.5); }},
    {"leaky_relu", [](T x) { return at::leaky_relu(x, 0.2); }},
    {"prelu", [](T x) { return at::prelu(x, torch::tensor({0.1F, 0.2F, 0.3F, 0.4F})); }},
    {"softplus", [](T x) { return at::softplus(x) + at::softplus(x, 2.0); }},
    {"mish", [](T x) { return at::mish(x); }},
    {"glu", [](T x) { return at::glu(x, 1); }},
    {"in_place", [](T x) { at::Tensor y = x + 1; y.mul_(2).relu_(); y.sub_(x); return y; }},
    {"in_place_on_the_input", [](T x) { at::Tensor y = x; y.relu_(); return y + x; }},
    {"arithmetic", [](T x) { return (1 - x) * 2 / (x + 3) - x.neg().abs().add(1).rsqrt() + at::sub(x, x * x, 0.5); }},
    {"pow_exp_log", [](T x) { return x.abs().add(0.1).pow(1.5) + x.exp() + x.abs().add(1).log() + x.erf() + x.square(); }},
    {"div_modes", [](T x) { return at::div(x * 7, 2, "floor") + at::div(x * 7, 2, "trunc"); }},
    {"where_compare", [](T x) { return at::where(x > 0.2, x, x * 2) + (x <= x * x).to(at::kFloat) + x.eq(x).to(at::kFloat); }},
    {"masked_fill", [](T x) { return x.masked_fill(x.lt(0).logical_and(x.gt(-0.5)), -3); }},
    {"max_min", [](T x) { return at::maximum(x, x * 2) + at::minimum(x, x * x) + std::get<0>(x.max(1, true)); }},
    {"cat_stack", [](T x) { return at::stack({at::cat({x, x * 2}, 1), at::cat({x * 3, x}, 1)}, 2); }},
    {"split", [](T x) { auto s = x.split(3, 1); return s[0].sum(1) + s[1].sum(1); }},
    {"chunk", [](T x) { auto s = x.chunk(3, 2); return s[0] * s[1] + s[2]; }},
    {"unbind", [](T x) { auto s = x.unbind(1); return s[0] * s[3]; }},
    {"slice", [](T x) { return x.slice(2, 1, -1, 2) + x.narrow(2, 3, 2) + x.select(1, -1).unsqueeze(1).slice(2, 4); }},
    {"index_select", [](T x) { return x.index_select(1, torch::tensor({2, 0}, at::kLong)) + x.index({at::indexing::Slice(), torch::tensor({1, 1}, at::kLong)}); }},
    {"gather", [](T x) { return x.gather(1, at::zeros({x.size(0), 1, 6, 6}, at::kLong)); }},
    {"view_size", [](T x) { return x.view({x.size(0), -1}) * x.reshape({x.size(0), 144}); }},
    {"view_merge", [](T x) { return x.view({x.size(0) * 4, 36}).view({x.size(0), 4, 36}); }},
    {"view_two", [](T x) { return x.permute({1, 0, 2, 3}).reshape({2, x.size(0) * 2, 36}).transpose(0, 1); }},
    {"unflatten", [](T x) { return x.flatten(1, 2).unflatten(1, {4, 6}).flatten(); }},
    {"permute", [](T x) { return x.permute({0, 2, -1, 1}).transpose(1, -1).contiguous().movedim(1, 3); }},
    {"squeeze", [](T x) { return x.mean({2, 3}, true).squeeze(-1).squeeze().unsqueeze(1); }},
    {"expand", [](T x) { return x.mean(1, true).expand({x.size(0), 4, -1, -1}) + x.sum(1, true).expand_as(x); }},
    {"repeat", [](T x) { return x.flatten(1).repeat({1, 2}) + x.flatten(1).repeat({2, 1, 1}).sum(0).repeat({1, 2}); }},
    {"to", [](T x) { return (x * 10).to(at::kInt).to(at::kFloat).type_as(x) + x.to(at::kDouble).to(at::kFloat); }},
    {"integers", [](T x) { return (x * 10).to(at::kLong) * 2 + 1; }},
    {"mixed_types", [](T x) { return (x > 0) + x * (x * 10).to(at::kLong); }},
    {"reduce", [](T x) { return x.mean({1, 3}) + x.sum(at::IntArrayRef{1, 2}) + x.amax({1, 2}) + x.amin({2, 1}); }},
    {"mean_all", [](T x) { return x * x.mean() + x.max() + x.min() + x.sum(); }},
    {"argmax", [](T x) { return x.argmax(1) + x.argmin(2).sum(1, true); }},
    {"topk", [](T x) { auto [v, i] = x.topk(2, 1); return v + i; }},
    {"cumsum", [](T x) { return x.cumsum(1); }},
    {"var_std", [](T x) { return x.var(at::IntArrayRef{1}) + x.std(at::IntArrayRef{1}, false); }},
    {"norm", [](T x) { return x / x.norm(2, {1}, true); }},
    {"softmax", [](T x) { return x.softmax(1) + x.log_softmax(-1); }},
    {"layer_norm", [](T x) { return at::layer_norm(x, {6, 6}, at::ones({6, 6}) * 2, at::ones({6, 6})) + at::layer_norm(x, {6}); }},
    {"group_norm", [](T x) { return at::group_norm(x, 2, at::arange(4).to(at::kFloat)); }},
    {"instance_norm", [](T x) { return at::instance_norm(x, {}, {}, {}, {}, true, 0.1, 1e-5, false); }},
    {"upsample_nearest", [](T x) { return at::upsample_nearest2d(x, {12, 18}); }},
    {"upsample_nearest_scale", [](T x) { return at::upsample_nearest2d(x, std::nullopt, std::vector<double>{2.0, 1.5}); }},
    {"upsample_bilinear", [](T x) { return at::upsample_bilinear2d(x, {12, 9}, false) + at::upsample_bilinear2d(x, {12, 9}, true); }},
    {"pad", [](T x) { return at::pad(x, {1, 2, 0, 1}, "constant", 0.5) + at::pad(x, {1, 2, 1, 0}, "reflect") + at::pad(x, {2, 1, 0, 1}, "replicate"); }},
    {"attention", [](T x) { return at::scaled_dot_product_attention(x, x * 2, x + 1); }},
    {"attention_causal", [](T x) { return at::scaled_dot_product_attention(x, x, x, {}, 0.0, true, 0.3); }},
    {"attention_mask", [](T x) { return at::scaled_dot_product_attention(x, x, x, x.select(1, 0).unsqueeze(1)); }},
    {"zeros_of_a_size", [](T x) { return at::zeros({x.size(0), 4, 1, 1}) + at::ones_like(x) + at::full({x.size(0), 1, 1, 1}, 2.5) + x.new_zeros({4, 1, 1}); }},
    {"arange_of_a_size", [](T x) { return at::arange(x.size(0)).view({-1, 1, 1, 1}) * x + at::arange(6, at::kFloat); }},
    {"size_as_a_number", [](T x) { return x * x.size(0) + x.size(0) / 2; }},
    {"slice_of_a_size", [](T x) { return x.slice(0, 0, x.size(0) - 1) + x.slice(0, 1, x.size(0)); }},
    {"matmul", [](T x) { return at::matmul(x, x.transpose(2, 3)) + at::bmm(x.select(1, 0), x.select(1, 1)).unsqueeze(1); }},
    {"addmm", [](T x) { return at::addmm(at::ones({6}), x.reshape({-1, 6}), at::ones({6, 6}), 0.5, 2.0); }},
    {"baddbmm", [](T x) { return at::baddbmm(x.select(1, 0), x.select(1, 1), x.select(1, 2), 0.5, 2.0); }},
    {"einsum", [](T x) { return at::einsum("nchw,nkhw->nck", {x, x}); }},
    {"tril", [](T x) { return x.tril() + x.triu(1); }},
    {"roll_flip", [](T x) { return x.roll({2, -1}, {2, 3}) + x.flip({1}); }},
    {"index_two", [](T x) { auto i = torch::tensor({2, 0}, at::kLong); return x.index({at::indexing::Slice(), i, i + 1}) + x.index({at::indexing::Slice(), i, at::indexing::Slice(), i}).transpose(0, 1); }},
    {"index_put", [](T x) { auto i = torch::tensor({2, 0}, at::kLong); return x.index_put({std::nullopt, i, i}, x.select(1, 0).narrow(1, 0, 2) * 3) + x.index_put({std::nullopt, i}, x.narrow(1, 0, 2), true); }},
    {"slice_scatter", [](T x) { return x.slice_scatter(x.narrow(2, 0, 2) * 3, 2, 1, -1, 2) + x.select_scatter(x.select(1, 0) * 2, 1, -1); }},
    {"scatter_reduce", [](T x) { return x.scatter_reduce(1, at::zeros({1, 2, 6, 6}, at::kLong), x.narrow(1, 0, 2), "amax"); }},
    {"masked_scatter", [](T x) { return x.masked_scatter(x.select(1, 0).unsqueeze(1) > 0.1, x.flip({1, 2}) * 3); }},
    {"masked_scatter_nothing", [](T x) { return x.masked_scatter(x > 9, x.flatten().slice(0, 0, 0)); }},
    {"masked_scatter_wide_mask", [](T x) { return x.select(0, 0).masked_scatter(x > 0.1, x.flip({1, 2}) * 3); }},
    {"angles", [](T x) { return at::atan2(x, x.flip({1})) + x.abs().log10() + x.exp2() + x.erfc() + at::hypot(x, x + 1) + x.asinh(); }},
    {"truncation", [](T x) { return (x * 3).trunc() + (x * 3).frac() + x.sgn() + at::nan_to_num(x.log(), 0.5, 2.0, -2.0); }},
    {"bits", [](T x) { auto w = (x * 8).to(at::kInt); return (w & 5) + (w | 2) + (w ^ 3) + ~w; }},
    {"logits", [](T x) { return at::logit(x.sigmoid(), 1e-6) + at::logaddexp(x, x * 2) + at::rrelu(x) + at::hardshrink(x) + at::softshrink(x); }},
    {"distances", [](T x) { return at::cosine_similarity(x, x.flip({3}), 3) + at::pairwise_distance(x, x.flip({2})) + at::cdist(x, x).sum(3) + at::linalg_vector_norm(x, std::numeric_limits<double>::infinity(), {3}); }},
    {"differences", [](T x) { return x.diff(1, 2).cumprod(3) + x.argsort(std::int64_t{2}).diff(1, 2); }},
    {"moments", [](T x) { auto [v, m] = at::var_mean(x, at::IntArrayRef{1}); auto [s, n] = at::std_mean(x, at::IntArrayRef{1}); return v + m + s + n; }},
    {"diagonal", [](T x) { return x.diagonal(1, 2, 3) + x.diagonal(-1, 3, 2) + x.unfold(3, 5, 1).mean({2, 3}); }},
    {"interleave", [](T x) { return x.repeat_interleave(2, 1) + at::channel_shuffle(at::cat({x, x * 2}, 1), 4); }},
    {"pixel_unshuffle", [](T x) { return at::pixel_unshuffle(x, 2); }},
    {"im2col", [](T x) { return at::im2col(x, {3, 2}, {1, 2}, {1, 0}, {2, 1}); }},
    {"col2im", [](T x) { return at::col2im(x.flatten(2).narrow(2, 0, 9), {4, 4}, {2, 2}, {1, 1}, {0, 0}, {1, 1}); }},
    {"grid_sampler", [](T x) { return at::grid_sampler(x, at::stack({x.select(1, 0), x.select(1, 1)}, -1), 0, 0, false); }},
    {"nearest_exact", [](T x) { return at::_upsample_nearest_exact2d(x, {9, 4}); }},
    {"weight_norm", [](T x) { return at::conv2d(x, at::_weight_norm(kWeight, at::ones({8, 1, 1, 1}), 0)); }},
    {"lists", [](T x) { auto g = at::meshgrid({x.select(0, 0).flatten(), at::arange(3, at::kFloat)}, "ij"); return at::hstack({x.flatten(1), x.flatten(1)}) + (g[0] + g[1]).sum(); }},
    {"pixel_shuffle", [](T x) { return at::pixel_shuffle(x, 2); }},
};
// clang-format on

INSTANTIATE_TEST_SUITE_P(All, AtenTable, testing::ValuesIn(kCases),
                         [](const auto& test) { return std::string(test.param.name); });

struct Text : torch::nn::Module {
  Text() {
    embedding = register_module("embedding", torch::nn::Embedding(10, 8));
    norm = register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({8})));
    attention = register_module("attention", torch::nn::MultiheadAttention(torch::nn::MultiheadAttentionOptions(8, 2)));
  }
  at::Tensor forward(const at::Tensor& tokens) {
    const at::Tensor x = norm(embedding(tokens) + at::arange(tokens.size(1)).unsqueeze(1));
    return std::get<0>(attention(x, x, x));
  }
  torch::nn::Embedding embedding{nullptr};
  torch::nn::LayerNorm norm{nullptr};
  torch::nn::MultiheadAttention attention{nullptr};
};

TEST(FromModule, TakesTokensOfAnyLength) {
  Text net;
  ModuleImportOptions options;
  options.dynamic_dims = {{{0, "T"}, {1, "N"}}};
  const Graph graph = from_module(net, {at::randint(10, {5, 2}, at::kLong)}, options);
  const at::Tensor tokens = at::randint(10, {3, 7}, at::kLong);
  net.eval();
  EXPECT_TRUE(at::allclose(Executor(graph).run({RtValue(tokens)})[0].tensor(), net.forward(tokens), 1e-5, 1e-6));
  EXPECT_EQ(graph.find_node("embedding")->op(), "Gather");
}

template <typename Rnn, typename Options>
void expect_recurrence(const char* op) {
  Rnn net(Options(6, 5).num_layers(2).bidirectional(true).batch_first(true));
  const Graph graph = from_module(net, {at::randn({2, 4, 6})});
  const at::Tensor x = at::randn({3, 4, 6});
  std::vector<at::Tensor> expected;
  net->eval();
  detail::flatten_result(net->forward(x), expected);
  const std::vector<RtValue> actual = Executor(graph).run({RtValue(x)});
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_TRUE(at::allclose(actual[i].tensor(), expected[i], 1e-5, 1e-6)) << op << i;
  int layers = 0;
  for (const auto& node : graph.nodes()) layers += node->op() == op ? 1 : 0;
  EXPECT_EQ(layers, 2);
}

TEST(FromModule, TakesLstm) { expect_recurrence<torch::nn::LSTM, torch::nn::LSTMOptions>("LSTM"); }
TEST(FromModule, TakesRnn) { expect_recurrence<torch::nn::RNN, torch::nn::RNNOptions>("RNN"); }
TEST(FromModule, TakesGru) { expect_recurrence<torch::nn::GRU, torch::nn::GRUOptions>("GRU"); }

}  // namespace
}  // namespace quench
