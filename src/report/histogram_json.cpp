#include "report/histogram_json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace quench {
namespace {

constexpr std::size_t kMostChannels = 512;

// The shortest decimal that is this float: half of the digits that its double has.
Json short_number(float value) {
  if (!std::isfinite(value)) return {};
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  double number = 0;
  std::from_chars(text.data(), end, number);
  return number;
}

// One number per group of `size` neighbours: the greatest or the least of them.
Json numbers(const std::vector<float>& values, std::size_t size, bool greatest) {
  Json list = Json::array();
  for (std::size_t at = 0; at < values.size(); at += size) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = values.begin() + static_cast<std::ptrdiff_t>(std::min(at + size, values.size()));
    list.push_back(short_number(greatest ? *std::max_element(begin, end) : *std::min_element(begin, end)));
  }
  return list;
}

}  // namespace

Json json_of(const TensorHistogram& one) {
  const std::size_t channels = one.channel_min.size(),
                    size = std::max<std::size_t>(1, (channels + kMostChannels - 1) / kMostChannels);
  Json object = {{"value", one.value},
                 {"role", name_of(one.role)},
                 {"scheme", one.scheme},
                 {"elements", one.elements},
                 {"lost", one.lost},
                 {"min", short_number(static_cast<float>(one.min))},
                 {"max", short_number(static_cast<float>(one.max))},
                 {"counts", one.counts}};
  if (one.lost > 0) object["lost_counts"] = one.lost_counts;
  object["low"] = numbers(one.low, size, false);  // one for all, or one per channel
  object["high"] = numbers(one.high, size, true);
  if (channels == 0) return object;
  object["channels"] = channels;
  object["channel_min"] = numbers(one.channel_min, size, false);
  object["channel_max"] = numbers(one.channel_max, size, true);
  return object;
}

Json json_of(const std::vector<TensorHistogram>& histograms) {
  Json list = Json::array();
  for (const TensorHistogram& one : histograms) list.push_back(json_of(one));
  return list;
}

}  // namespace quench
