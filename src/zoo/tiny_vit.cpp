// A small vision transformer (Dosovitskiy et al. 2020) with torchvision's structure and parameter names:
// 96x96 images, patches of 16, width 64, two layers of four heads.
#include <torch/nn/init.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include "quench/zoo_net.h"

namespace quench {
namespace {

namespace init = torch::nn::init;
using torch::nn::LayerNorm;
using torch::nn::Linear;

constexpr std::int64_t kImage = 96, kPatch = 16, kWidth = 64, kHeads = 4, kMlp = 128, kLayers = 2;
constexpr std::int64_t kPatches = (kImage / kPatch) * (kImage / kPatch);

LayerNorm make_norm() { return LayerNorm(torch::nn::LayerNormOptions({kWidth}).eps(1e-6)); }

// Query, key and value of all heads come from one matrix, as in nn.MultiheadAttention.
struct SelfAttention : ZooNet {
  SelfAttention()
      : in_proj_weight(register_parameter("in_proj_weight", at::empty({3 * kWidth, kWidth}))),
        in_proj_bias(register_parameter("in_proj_bias", at::zeros({3 * kWidth}))),
        out_proj(register_module("out_proj", Linear(kWidth, kWidth))) {
    init::xavier_uniform_(in_proj_weight);
    init::zeros_(out_proj->bias);
  }

  at::Tensor forward(at::Tensor x) override {
    constexpr std::int64_t kTokens = kPatches + 1, kHead = kWidth / kHeads;
    const at::Tensor qkv =
        at::linear(x, in_proj_weight, in_proj_bias).reshape({-1, kTokens, 3, kHeads, kHead}).permute({2, 0, 3, 1, 4});
    const at::Tensor query = qkv.select(0, 0), key = qkv.select(0, 1), value = qkv.select(0, 2);
    const at::Tensor scores = at::matmul(query, key.transpose(-2, -1)) / std::sqrt(static_cast<double>(kHead));
    const at::Tensor mixed = at::matmul(at::softmax(scores, -1), value);
    return out_proj->forward(mixed.transpose(1, 2).reshape({-1, kTokens, kWidth}));
  }

  at::Tensor in_proj_weight, in_proj_bias;
  Linear out_proj;
};

// "0" and "3": the numbers between are the activation and a dropout that has no parameters.
struct Mlp : ZooNet {
  Mlp() : first(register_module("0", Linear(kWidth, kMlp))), second(register_module("3", Linear(kMlp, kWidth))) {
    for (Linear& linear : {std::ref(first), std::ref(second)}) {
      init::xavier_uniform_(linear->weight);
      init::normal_(linear->bias, 0, 1e-6);
    }
  }
  at::Tensor forward(at::Tensor x) override { return second->forward(at::gelu(first->forward(x))); }

  Linear first, second;
};

struct EncoderLayer : ZooNet {
  EncoderLayer()
      : ln_1(register_module("ln_1", make_norm())),
        self_attention(register_module("self_attention", std::make_shared<SelfAttention>())),
        ln_2(register_module("ln_2", make_norm())),
        mlp(register_module("mlp", std::make_shared<Mlp>())) {}

  at::Tensor forward(at::Tensor x) override {
    x = x + self_attention->forward(ln_1->forward(x));
    return x + mlp->forward(ln_2->forward(x));
  }

  LayerNorm ln_1;
  std::shared_ptr<SelfAttention> self_attention;
  LayerNorm ln_2;
  std::shared_ptr<Mlp> mlp;
};

struct Encoder : ZooNet {
  Encoder() : pos_embedding(register_parameter("pos_embedding", at::empty({1, kPatches + 1, kWidth}))) {
    init::normal_(pos_embedding, 0, 0.02);
    auto named = register_module("layers", std::make_shared<torch::nn::Module>("layers"));
    for (std::int64_t i = 0; i < kLayers; ++i)
      layers.push_back(named->register_module("encoder_layer_" + std::to_string(i), std::make_shared<EncoderLayer>()));
    ln = register_module("ln", make_norm());
  }

  at::Tensor forward(at::Tensor x) override {
    x = x + pos_embedding;
    for (const auto& layer : layers) x = layer->forward(x);
    return ln->forward(x);
  }

  at::Tensor pos_embedding;
  std::vector<std::shared_ptr<EncoderLayer>> layers;
  LayerNorm ln{nullptr};
};

// torchvision zeroes the head; here it keeps LibTorch's default, so that a fresh model tells images apart.
struct Heads : ZooNet {
  explicit Heads(std::int64_t classes) : head(register_module("head", Linear(kWidth, classes))) {}
  at::Tensor forward(at::Tensor x) override { return head->forward(x); }

  Linear head;
};

struct TinyVit : ZooNet {
  explicit TinyVit(const ZooOptions& options)
      : class_token(register_parameter("class_token", at::zeros({1, 1, kWidth}))),
        conv_proj(register_module(
            "conv_proj",
            torch::nn::Conv2d(torch::nn::Conv2dOptions(options.in_channels, kWidth, kPatch).stride(kPatch)))),
        encoder(register_module("encoder", std::make_shared<Encoder>())),
        heads(register_module("heads", std::make_shared<Heads>(options.num_classes))) {
    const double fan_in = static_cast<double>(options.in_channels * kPatch * kPatch);
    init::normal_(conv_proj->weight, 0, std::sqrt(1.0 / fan_in));
    init::zeros_(conv_proj->bias);
  }

  at::Tensor forward(at::Tensor x) override {
    QUENCH_CHECK(x.dim() == 4 && x.size(2) == kImage && x.size(3) == kImage, "tiny_vit takes images of ", kImage, "x",
                 kImage, "; the input has shape ", x.sizes());
    const at::Tensor patches = at::flatten(conv_proj->forward(x), 2).transpose(1, 2);
    const at::Tensor tokens = at::cat({class_token.expand({x.size(0), -1, -1}), patches}, 1);
    return heads->forward(encoder->forward(tokens).select(1, 0));
  }

  at::Tensor class_token;
  torch::nn::Conv2d conv_proj;
  std::shared_ptr<Encoder> encoder;
  std::shared_ptr<Heads> heads;
};

std::shared_ptr<ZooNet> make_tiny_vit(const ZooOptions& options) { return std::make_shared<TinyVit>(options); }

}  // namespace

QUENCH_REGISTER_ZOO("tiny_vit", "a small vision transformer for 96x96 images", {make_tiny_vit, 10, 3, 96})

}  // namespace quench
