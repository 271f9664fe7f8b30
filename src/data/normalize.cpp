#include "data/normalize.h"

#include <map>

namespace quench {
namespace {

struct Constants {
  std::vector<double> mean, std;
};

const std::map<std::string, Constants>& presets() {
  static const std::map<std::string, Constants> table = {
      {"imagenet", {{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}}},
      {"cifar10", {{0.4914, 0.4822, 0.4465}, {0.2470, 0.2435, 0.2616}}},
      {"mnist", {{0.1307}, {0.3081}}},
      {"half", {{0.5}, {0.5}}},
      {"none", {{0.0}, {1.0}}},
  };
  return table;
}

Constants constants_of(const DatasetSpec& spec) {
  const auto norm = text_option(spec, "norm");
  const auto mean = numbers_option(spec, "mean"), std = numbers_option(spec, "std");
  QUENCH_CHECK(norm || mean || std,
               "the normalization of the images is not given; use norm=imagenet, norm=cifar10, norm=mnist, norm=half "
               "(mean 0.5, std 0.5), norm=none (0 to 1), or mean=a,b,c&std=a,b,c, as the model was trained");
  QUENCH_CHECK(!norm || (!mean && !std), "norm= and mean=/std= are mutually exclusive; give one of them");
  if (!norm) {
    QUENCH_CHECK(mean && std, "mean= and std= go together; ", mean ? "std" : "mean", "= is missing");
    return {*mean, *std};
  }
  const auto at = presets().find(*norm);
  if (at == presets().end()) {
    std::vector<std::string> known;
    for (const auto& [name, constants] : presets()) known.push_back(name);
    fail_unknown_name("norm", *norm, known);
  }
  return at->second;
}

double channel_of(const std::vector<double>& numbers, std::int64_t channel, std::int64_t channels, const char* what) {
  const auto count = static_cast<std::int64_t>(numbers.size());
  QUENCH_CHECK(count == channels || count == 1, "the normalization has ", count, " values of ", what,
               ", but images are read with ", channels, channels == 1 ? " channel" : " channels",
               ", as the model takes them");
  return count == 1 ? numbers[0] : numbers[static_cast<std::size_t>(channel)];
}

std::string shape_text(const InputHint& shape) {
  const auto text = [](std::int64_t number) { return number < 0 ? std::string("?") : std::to_string(number); };
  return concat(text(shape.channels), "x", text(shape.height), "x", text(shape.width));
}

}  // namespace

Normalizer::Normalizer(const DatasetSpec& spec, std::int64_t channels) {
  const Constants constants = constants_of(spec);
  for (std::int64_t channel = 0; channel < channels; ++channel) {
    const auto mean = static_cast<float>(channel_of(constants.mean, channel, channels, "mean"));
    const auto std = static_cast<float>(channel_of(constants.std, channel, channels, "std"));
    QUENCH_CHECK(std > 0, "std=", std, " is not above 0");
    auto& table = tables_.emplace_back();
    for (int value = 0; value < 256; ++value) {
      const float unit = static_cast<float>(value) / 255.0F;
      const float centred = unit - mean;
      table[static_cast<std::size_t>(value)] = centred / std;
    }
  }
}

void Normalizer::planar(const std::uint8_t* from, float* to, std::int64_t pixels) const {
  for (const auto& table : tables_) {
    for (std::int64_t i = 0; i < pixels; ++i) *to++ = table[*from++];
  }
}

void Normalizer::interleaved(const std::uint8_t* from, float* to, std::int64_t pixels) const {
  const auto channels = static_cast<std::int64_t>(tables_.size());
  for (std::int64_t channel = 0; channel < channels; ++channel) {
    const auto& table = tables_[static_cast<std::size_t>(channel)];
    float* plane = to + channel * pixels;
    for (std::int64_t i = 0; i < pixels; ++i) plane[i] = table[from[i * channels + channel]];
  }
}

void check_image_shape(const char* what, const InputHint& images, const InputHint& model) {
  const auto fits = [](std::int64_t have, std::int64_t want) { return want < 0 || have < 0 || have == want; };
  QUENCH_CHECK(
      fits(images.channels, model.channels) && fits(images.height, model.height) && fits(images.width, model.width),
      what, " are ", shape_text(images), ", but the model takes ", shape_text(model));
}

}  // namespace quench
