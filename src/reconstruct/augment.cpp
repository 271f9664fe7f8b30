#include "reconstruct/augment.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "quench/error.h"
#include "quench/registry.h"

namespace quench {
namespace {

constexpr double kShift = 0.125;  // of the width and height, at most: 4 of 32
constexpr double kMostCut = 0.7;  // of the area
constexpr double kLeastMix = 0.5;
constexpr std::int64_t kDraws = 8;  // numbers per item, at most
const std::set<std::int64_t> kPictureChannels = {1, 3, 4};

// A mixing function of integers (the finaliser of SplitMix64, Steele et al. 2014), in operators that can be captured.
at::Tensor scattered(at::Tensor x) {
  x = x.bitwise_xor(at::bitwise_right_shift(x, 30).bitwise_and(0x3FFFFFFFF)) * std::int64_t{-4658895280553007687};
  x = x.bitwise_xor(at::bitwise_right_shift(x, 27).bitwise_and(0x1FFFFFFFFF)) * std::int64_t{-7723592293110705685};
  return x.bitwise_xor(at::bitwise_right_shift(x, 31).bitwise_and(0x1FFFFFFFF));
}

// Nothing else that a network could read, such as a mask.
bool is_pictures(const NamedValues& inputs) {
  if (inputs.size() != 1) return false;
  const at::Tensor& only = inputs.begin()->second.tensor();
  return only.dim() == 4 && kPictureChannels.contains(only.size(1));
}

// Rows (or columns) of each image, moved by its shift; what leaves the image is its edge. [items, size]
at::Tensor moved(const at::Tensor& shift, std::int64_t size) {
  const at::Tensor places = at::arange(size, shift.options().dtype(at::kLong)).unsqueeze(0);
  return (places + shift.unsqueeze(1)).clamp_(0, size - 1);
}

}  // namespace

Augment::Augment(const std::string& words, std::uint64_t seed) : seed_(seed) {
  static const std::map<std::string, bool Augment::*> ways = {{"auto", &Augment::auto_},
                                                              {"flip", &Augment::flip_},
                                                              {"crop", &Augment::crop_},
                                                              {"cut", &Augment::cut_},
                                                              {"mix", &Augment::mix_}};
  if (words == "none") return;
  std::istringstream text(words.empty() ? words : words + ",");  // so that a comma at the end is followed by a word
  for (std::string word; std::getline(text >> std::ws, word, ',');) {
    const auto which = ways.find(word);
    if (which == ways.end())
      fail_unknown_name("variation of images in 'joint_augment'", word, {"flip", "crop", "cut", "mix", "none", "auto"});
    this->*which->second = true;
  }
  QUENCH_CHECK(!auto_ || words == "auto",
               "the option 'joint_augment' is auto or a list of flip, crop, cut, mix, not both");
  if (auto_) flip_ = crop_ = cut_ = true;
}

void Augment::check_inputs(const Graph& network) const {
  const std::vector<Value*>& inputs = network.inputs();
  const auto may_be_images = [](const Value* input) {
    return is_floating(input->dtype()) && (!input->has_rank() || input->rank() == 4);
  };
  const bool wanted = !auto_ && (flip_ || crop_ || cut_ || mix_);
  QUENCH_CHECK(!wanted || std::any_of(inputs.begin(), inputs.end(), may_be_images),
               "the option 'joint_augment' varies images, and the network reads none: it has no input of floats with "
               "four axes");
}

bool Augment::applies_to(const NamedValues& inputs) const { return !auto_ || is_pictures(inputs); }

NamedValues Augment::varied(NamedValues inputs, const at::Tensor& counter) const {
  const c10::AutoGradMode no_grad(false);
  if (!applies_to(inputs)) return inputs;
  for (auto& [name, value] : inputs)
    if (value.tensor().dim() == 4 && value.tensor().is_floating_point())
      value = RtValue(varied(value.tensor(), counter).to(value.tensor().scalar_type()));
  return inputs;
}

// One number in [0, 1) per item.
at::Tensor Augment::random(const at::Tensor& like, const at::Tensor& counter, std::int64_t draw) const {
  const at::Tensor items = at::arange(like.size(0), like.options().dtype(at::kLong)) + counter * like.size(0);
  const at::Tensor bits = scattered(items * kDraws + (draw + static_cast<std::int64_t>(seed_ >> 1)));
  return bits.bitwise_and(0xFFFFFF).to(at::kFloat).div_(1 << 24);
}

at::Tensor Augment::varied(const at::Tensor& images, const at::Tensor& counter) const {
  const std::int64_t height = images.size(2), width = images.size(3);
  at::Tensor result = images;
  const auto shift = [&](std::int64_t size, std::int64_t draw) {
    const double most = static_cast<double>(static_cast<std::int64_t>(kShift * static_cast<double>(size)));
    return random(images, counter, draw).mul_(2 * most + 1).floor_().sub_(most).to(at::kLong);
  };
  if (crop_) {
    result = result.gather(2, moved(shift(height, 0), height).view({-1, 1, height, 1}).expand_as(result));
    result = result.gather(3, moved(shift(width, 1), width).view({-1, 1, 1, width}).expand_as(result));
  }
  const auto each = [&](std::int64_t draw) { return random(images, counter, draw).view({-1, 1, 1, 1}); };
  if (flip_) result = at::where(each(2) < 0.5, result.flip(3), result);
  if (cut_) {
    // How far rows and columns are from the window's middle, in heights and widths of the image.
    const auto away = [&](std::int64_t size, std::int64_t draw) {
      const at::Tensor places = at::arange(size, images.options()).add_(0.5).div_(static_cast<double>(size));
      return (places.unsqueeze(0) - random(images, counter, draw).unsqueeze(1)).abs_();
    };
    const at::Tensor half = each(6).mul_(kMostCut).sqrt_().div_(2);
    const at::Tensor rows = away(height, 4).view({-1, 1, height, 1}) < half;
    const at::Tensor columns = away(width, 5).view({-1, 1, 1, width}) < half;
    result = at::where(rows.logical_and(columns), result.roll(1, 0), result);
  }
  if (mix_) {
    const at::Tensor share = each(3).mul_(1 - kLeastMix).add_(kLeastMix);
    result = result * share + result.roll(1, 0) * (1 - share);
  }
  return result;
}

}  // namespace quench
