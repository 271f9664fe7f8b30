#include "reconstruct/augment.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <sstream>

#include "quench/error.h"

namespace quench {
namespace {

constexpr double kShift = 0.125;  // of the width and height, at most: 4 of 32
constexpr double kLeastMix = 0.5, kMostCut = 0.7, kWarp = 0.25, kAngle = 0.3, kColor = 0.3;

// A mixing function of integers (the finaliser of SplitMix64, Steele et al. 2014), in operators that can be captured.
at::Tensor scattered(at::Tensor x) {
  x = x.bitwise_xor(at::bitwise_right_shift(x, 30).bitwise_and(0x3FFFFFFFF)) * std::int64_t{-4658895280553007687};
  x = x.bitwise_xor(at::bitwise_right_shift(x, 27).bitwise_and(0x1FFFFFFFFF)) * std::int64_t{-7723592293110705685};
  return x.bitwise_xor(at::bitwise_right_shift(x, 31).bitwise_and(0x1FFFFFFFF));
}

// Rows (or columns) of each image, moved by its shift; what leaves the image is its edge. [items, size]
at::Tensor moved(const at::Tensor& shift, std::int64_t size) {
  const at::Tensor places = at::arange(size, shift.options().dtype(at::kLong)).unsqueeze(0);
  return (places + shift.unsqueeze(1)).clamp_(0, size - 1);
}

}  // namespace

const std::vector<std::pair<std::string, bool Augment::*>>& Augment::kinds() {
  static const std::vector<std::pair<std::string, bool Augment::*>> all = {
      {"flip", &Augment::flip_},   {"crop", &Augment::crop_}, {"warp", &Augment::warp_},
      {"color", &Augment::color_}, {"cut", &Augment::cut_},   {"mix", &Augment::mix_}};
  return all;
}

Augment::Augment(const std::string& words, std::uint64_t seed) : seed_(seed) {
  std::istringstream text(words.empty() ? words : words + ",");  // so that a comma at the end is followed by a word
  for (std::string word; std::getline(text >> std::ws, word, ',');) {
    const auto which = std::find_if(kinds().begin(), kinds().end(), [&](const auto& kind) { return kind.first == word; });
    QUENCH_CHECK(which != kinds().end(), "'", word,
                 "' is no variation of images: there are flip, crop, warp, color, cut, mix");
    this->*which->second = any_ = true;
  }
}

void Augment::check_inputs(const Graph& network) const {
  const std::vector<Value*>& inputs = network.inputs();
  const auto may_be_images = [](const Value* input) {
    return input->dtype() == DType::kFloat && (!input->has_rank() || input->rank() == 4);
  };
  QUENCH_CHECK(!any_ || std::any_of(inputs.begin(), inputs.end(), may_be_images),
               "the option 'joint_augment' varies images, and the network reads none: it has no input of floats with "
               "four axes");
}

NamedValues Augment::varied(NamedValues inputs, const at::Tensor& counter) const {
  const c10::AutoGradMode no_grad(false);
  for (auto& [name, value] : inputs)
    if (value.tensor().dim() == 4 && value.tensor().scalar_type() == at::kFloat)
      value = RtValue(varied(value.tensor(), counter));
  return inputs;
}

// One number in [0, 1) per item.
at::Tensor Augment::random(const at::Tensor& like, const at::Tensor& counter, std::int64_t draw) const {
  const at::Tensor items = at::arange(like.size(0), like.options().dtype(at::kLong)) + counter * like.size(0);
  const at::Tensor bits = scattered(items * 16 + (draw + static_cast<std::int64_t>(seed_ >> 1)));
  return bits.bitwise_and(0xFFFFFF).to(at::kFloat).div_(1 << 24);
}

at::Tensor Augment::varied(const at::Tensor& images, const at::Tensor& counter) const {
  const std::int64_t height = images.size(2), width = images.size(3);
  at::Tensor result = images;
  const auto shift = [&](std::int64_t size, std::int64_t draw) {
    const double most = static_cast<double>(static_cast<std::int64_t>(kShift * static_cast<double>(size)));
    return random(images, counter, draw).mul_(2 * most + 1).floor_().sub_(most).to(at::kLong);
  };
  const auto each = [&](std::int64_t draw) { return random(images, counter, draw).view({-1, 1, 1, 1}); };
  if (warp_) {
    const at::Tensor scale = random(images, counter, 7).sub_(0.5).mul_(2 * kWarp).exp_();
    const at::Tensor angle = random(images, counter, 8).sub_(0.5).mul_(2 * kAngle);
    const at::Tensor c = angle.cos() * scale, s = angle.sin() * scale, zero = at::zeros_like(c);
    const at::Tensor theta = at::stack({c, -s, zero, s, c, zero}, 1).view({-1, 2, 3});
    const at::Tensor grid = at::affine_grid_generator(theta, images.sizes(), false);
    result = at::grid_sampler(result, grid, 0, 2, false);
  }
  if (crop_) {
    result = result.gather(2, moved(shift(height, 0), height).view({-1, 1, height, 1}).expand_as(result));
    result = result.gather(3, moved(shift(width, 1), width).view({-1, 1, 1, width}).expand_as(result));
  }
  if (flip_) result = at::where(each(2) < 0.5, result.flip(3), result);
  if (color_) {
    const at::Tensor offset = at::cat({each(10), each(11), each(12)}, 1).sub_(0.5).mul_(2 * kColor);
    result = result * each(9).sub_(0.5).mul_(2 * kColor).exp_() + (images.size(1) == 3 ? offset : offset.narrow(1, 0, 1));
  }
  if (cut_) {
    const auto away = [&](std::int64_t size, std::int64_t draw) {  // of each row or column, from a random middle
      const at::Tensor places = at::arange(size, images.options()).add_(0.5).div_(static_cast<double>(size));
      return (places.unsqueeze(0) - random(images, counter, draw).unsqueeze(1)).abs_();
    };
    const at::Tensor half = each(6).mul_(kMostCut).sqrt_().div_(2);
    const at::Tensor inside = (away(height, 4).view({-1, 1, height, 1}) < half)
                                  .logical_and(away(width, 5).view({-1, 1, 1, width}) < half);
    result = at::where(inside, result.roll(1, 0), result);
  }
  if (mix_) {
    const at::Tensor share = each(3).mul_(1 - kLeastMix).add_(kLeastMix);
    result = result * share + result.roll(1, 0) * (1 - share);
  }
  return result;
}

}  // namespace quench
