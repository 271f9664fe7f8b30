#include "data/doubts.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <optional>

#include "core/counted.h"
#include "data/image.h"
#include "data/image_files.h"
#include "data/read_file.h"
#include "quench/error.h"

namespace quench {
namespace {

constexpr std::int64_t kItemsSeen = 8;
constexpr std::int64_t kSmall = 64;  // sides up to this are of models for thumbnails
constexpr std::int64_t kShrunk = 4;  // pictures this many times larger are of another kind
constexpr std::uintmax_t kLargestFile = std::uintmax_t{256} << 20;

// The number that all float tensors of an item consist of.
std::optional<float> only_number(const InputValues& inputs) {
  std::optional<float> only;
  for (const auto& [name, value] : inputs.values()) {
    if (!value.is_tensor() || !value.tensor().is_floating_point() || value.tensor().numel() < 2) return std::nullopt;
    const at::Tensor tensor = value.tensor().to(at::kFloat);
    const auto least = tensor.min().item<float>(), greatest = tensor.max().item<float>();
    if (least != greatest || (only && *only != least)) return std::nullopt;
    only = least;
  }
  return only;
}

}  // namespace

std::vector<std::string> doubts_about_values(const Dataset& data) {
  const std::int64_t count = std::min(data.size(), kItemsSeen);
  std::optional<float> only;
  for (std::int64_t i = 0; i < count; ++i) try {
      const std::optional<float> number = only_number(data.get(i).inputs);
      if (!number || (only && *only != *number)) return {};
      only = number;
    } catch (const Error&) {  // broken: whoever reads it in earnest says so
    }
  if (!only) return {};
  return {concat("every number in the first ", counted(count, "item"), " of the data is ", *only + 0.0F,
                 ": scales that are found on such data are useless")};
}

std::vector<std::string> doubts_about_classes(const Dataset& data, const Graph& model) {
  const auto of_data = static_cast<std::int64_t>(data.classes().size());
  if (of_data == 0 || data.task() != Task::kClassify || model.outputs().empty()) return {};
  const Value& scores = *model.outputs()[0];
  if (!scores.has_rank() || scores.rank() != 2 || !scores.dims()[1].is_number()) return {};
  const std::int64_t of_model = scores.dims()[1].number();
  if (of_data == of_model) return {};
  return {concat("the data has ", counted(of_data, "class", "classes"), ", the model ", of_model,
                 ": labels count the classes of the data in their order, so accuracy is right only if they are the "
                 "model's first ones (classes=FILE lists the model's)")};
}

std::vector<std::string> doubts_about_size(const DatasetSpec& spec, const Graph& model) {
  const InputHint hint = input_hint(model);
  const auto asked = [&](const char* key) { return spec.options.contains(key); };
  if (spec.kind != "images" || hint.height <= 0 || std::max(hint.height, hint.width) > kSmall) return {};
  if (asked("size") || asked("resize") || asked("crop")) return {};
  try {
    const std::vector<ImageFile> files = find_image_files(spec.path, text_option(spec, "classes").value_or("")).files;
    const Image first = decode_image(read_file(files.at(0).path, kLargestFile));
    if (std::min(first.height, first.width) < kShrunk * std::max(hint.height, hint.width)) return {};
    return {concat("the pictures are large (the first has ", first.width, " x ", first.height,
                   " points), the model takes ", hint.width, " x ", hint.height,
                   ": they are shrunk to that; is the model meant for them? (size=", hint.height, " says that it is)")};
  } catch (const Error&) {  // as above
    return {};
  }
}

}  // namespace quench
