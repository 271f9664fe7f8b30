#include "data/geometry.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "data/normalize.h"
#include "quench/error.h"

namespace quench {
namespace {

constexpr std::int64_t kLargestSide = 16384;
constexpr std::int64_t kUsualBorder = 114;  // the grey of YOLO's letterbox

double ratio(std::int64_t above, std::int64_t below) { return static_cast<double>(above) / static_cast<double>(below); }

Placement scaled(const Image& from, const Image& to) {
  return {ratio(to.width, from.width), ratio(to.height, from.height), 0.0, 0.0};
}

}  // namespace

// "224" or "320x224" (height first).
Geometry::Size Geometry::size_option(const DatasetSpec& spec, const char* key) {
  const auto text = text_option(spec, key);
  if (!text) return {};
  const auto number = [&](const std::string& part) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    QUENCH_CHECK(error == std::errc() && end == part.data() + part.size() && value > 0 && value <= kLargestSide,
                 "option ", key, "=", *text, " is not a size from 1 to ", kLargestSide, ", such as 224 or 320x224");
    return value;
  };
  const std::size_t cross = text->find('x');
  const std::int64_t height = number(text->substr(0, cross));
  return {height, cross == std::string::npos ? height : number(text->substr(cross + 1))};
}

Geometry::Geometry(const DatasetSpec& spec, const InputHint& hint) : resize_(size_option(spec, "resize")) {
  const Size size = size_option(spec, "size"), crop = size_option(spec, "crop");
  QUENCH_CHECK(!size.known() || !crop.known(), "size= and crop= are mutually exclusive; give one of them");
  asked_ = resize_.known() || crop.known();
  final_ = size.known() ? size : crop.known() ? crop : Size{hint.height, hint.width};
  if (final_.known()) check_image_size(final_.height, final_.width);
  check_image_shape("the pictures after size= or crop=", {-1, final_.height, final_.width}, hint);
  read_fit(spec);
  if (!resize_.known() && !crop.known() && final_.known()) {
    resize_ = {final_.height * 256 / 224, final_.width * 256 / 224};
  }
}

void Geometry::read_fit(const DatasetSpec& spec) {
  fit_ = text_option(spec, "fit").value_or("crop");
  QUENCH_CHECK(fit_ == "crop" || fit_ == "stretch" || fit_ == "letterbox", "option fit=", fit_,
               " is not one of crop, stretch, letterbox");
  QUENCH_CHECK(fit_ == "crop" || !asked_, "fit=", fit_, " leaves nothing to resize= and crop=: omit them");
  QUENCH_CHECK(fit_ == "crop" || final_.known(), "fit=", fit_, " needs a size: give size=N");
  const std::int64_t border = integer_option(spec, "border", 0).value_or(kUsualBorder);
  QUENCH_CHECK(border <= 255, "option border=", border, " is not a grey from 0 to 255");
  QUENCH_CHECK(fit_ == "letterbox" || !spec.options.contains("border"), "border= is for fit=letterbox");
  border_ = static_cast<std::uint8_t>(border);
}

Geometry::Placed Geometry::apply(Image image) const {
  const bool fits = final_.known() && image.height == final_.height && image.width == final_.width;
  if (fits && !asked_) return {std::move(image), {}};
  if (fit_ == "letterbox") return letterbox(image);
  if (fit_ == "crop") return crop(std::move(image));
  Image stretched = resize_bilinear(image, final_.height, final_.width);
  return {stretched, scaled(image, stretched)};
}

// Keeps the proportions; the side that is shorter, as seen from the wanted size, gets it exactly.
Geometry::Size Geometry::covering(const Image& image) const {
  const auto other = [](std::int64_t wanted, std::int64_t have, std::int64_t side) {
    return static_cast<std::int64_t>(static_cast<double>(wanted * side) / static_cast<double>(have));
  };
  const bool by_width = resize_.height * image.width <= resize_.width * image.height;
  return by_width ? Size{other(resize_.width, image.width, image.height), resize_.width}
                  : Size{resize_.height, other(resize_.height, image.height, image.width)};
}

Geometry::Placed Geometry::crop(Image image) const {
  Placement placement;
  if (resize_.known()) {
    const Size size = covering(image);
    Image resized = resize_bilinear(image, size.height, size.width);
    placement = scaled(image, resized);
    image = std::move(resized);
  }
  if (!final_.known()) return {std::move(image), placement};
  placement.left = -static_cast<double>(crop_offset(image.width, final_.width));
  placement.top = -static_cast<double>(crop_offset(image.height, final_.height));
  return {center_crop(image, final_.height, final_.width), placement};
}

// As large as fits, in the middle of a border.
Geometry::Placed Geometry::letterbox(const Image& image) const {
  const double scale = std::min(ratio(final_.height, image.height), ratio(final_.width, image.width));
  const auto side = [&](std::int64_t have, std::int64_t most) {
    return std::clamp<std::int64_t>(std::lround(scale * static_cast<double>(have)), 1, most);
  };
  const Image inner = resize_bilinear(image, side(image.height, final_.height), side(image.width, final_.width));
  Image whole(final_.height, final_.width, image.channels);
  std::fill(whole.bytes.begin(), whole.bytes.end(), border_);
  const std::int64_t top = (whole.height - inner.height) / 2, left = (whole.width - inner.width) / 2;
  const std::int64_t stride = inner.width * inner.channels;
  for (std::int64_t row = 0; row < inner.height; ++row)
    std::copy_n(inner.bytes.data() + row * stride, stride,
                whole.bytes.data() + ((row + top) * whole.width + left) * whole.channels);
  Placement placement = scaled(image, inner);
  placement.left = static_cast<double>(left);
  placement.top = static_cast<double>(top);
  return {std::move(whole), placement};
}

}  // namespace quench
