#include "graph/text_tensor.h"

#include <ATen/ATen.h>
#include <zlib.h>

#include <charconv>
#include <cmath>
#include <cstring>

#include "core/base64.h"
#include "graph/tensor_types.h"
#include "quench/error.h"

namespace quench {
namespace {

constexpr std::int64_t kInlineElements = 16;

template <typename T>
std::string shortest(T value) {
  char buffer[64];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
  std::string text(buffer, result.ptr);
  const bool plain = text.find_first_of(".einf") == std::string::npos;
  return plain ? text + ".0" : text;
}

bool is_inline_type(DType dtype) {
  return dtype == DType::kFloat || dtype == DType::kDouble || dtype == DType::kBool ||
         (is_integer(dtype) && dtype != DType::kUint64);
}

std::string number_text(const at::Tensor& flat, std::int64_t index, DType dtype) {
  if (dtype == DType::kFloat) return shortest(flat.const_data_ptr<float>()[index]);
  if (dtype == DType::kDouble) return shortest(flat.const_data_ptr<double>()[index]);
  return std::to_string(flat[index].item<std::int64_t>());
}

std::int64_t element_count(const std::vector<std::int64_t>& sizes) {
  std::int64_t count = 1;
  for (std::int64_t size : sizes)
    QUENCH_CHECK(size >= 0 && !__builtin_mul_overflow(count, size, &count), "a tensor of absurd size");
  return count;
}

}  // namespace

std::string quote_text(const std::string& text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (c == '\n')
      out += "\\n";
    else if (byte < 32 || byte == 127)
      out += {'\\', 'x', kHex[byte >> 4U], kHex[byte & 15U]};
    else
      out += c;
  }
  return out + "\"";
}

std::string float_text(double value) { return shortest(value); }

std::string tensor_data_text(const at::Tensor& tensor, DType dtype, bool with_large_data) {
  const at::Tensor flat = tensor.detach().cpu().contiguous().flatten();
  const bool has_nan = flat.is_floating_point() && is_inline_type(dtype) && flat.isnan().any().item<bool>();
  if (flat.numel() <= kInlineElements && is_inline_type(dtype) && !has_nan) {
    std::string text = "{";
    for (std::int64_t i = 0; i < flat.numel(); ++i) text += (i == 0 ? "" : ", ") + number_text(flat, i, dtype);
    return text + "}";
  }
  const auto* bytes = static_cast<const unsigned char*>(flat.const_data_ptr());
  if (with_large_data) return "base64 \"" + encode_base64(bytes, flat.nbytes()) + "\"";
  char checksum[16];
  std::snprintf(checksum, sizeof checksum, "#%08lx", crc32_z(0, bytes, flat.nbytes()));
  return checksum;
}

at::Tensor tensor_from_numbers(DType dtype, const std::vector<std::int64_t>& sizes,
                               const std::vector<std::string>& numbers) {
  const std::int64_t count = element_count(sizes);
  QUENCH_CHECK(count == static_cast<std::int64_t>(numbers.size()), "a tensor of ", count, " elements is given ",
               numbers.size());
  QUENCH_CHECK(is_inline_type(dtype), "a tensor of type ", name_of(dtype), " is written as base64, not as numbers");
  at::Tensor flat = at::empty({count}, dtype == DType::kDouble ? at::kDouble
                                       : is_floating(dtype)    ? at::kFloat
                                                               : at::kLong);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string& text = numbers[static_cast<std::size_t>(i)];
    const auto read = [&](auto* to) {
      const auto result = std::from_chars(text.data(), text.data() + text.size(), *to);
      QUENCH_CHECK(result.ec == std::errc() && result.ptr == text.data() + text.size(), "'", text, "' is not a ",
                   name_of(dtype), " number");
    };
    if (flat.scalar_type() == at::kFloat)
      read(flat.mutable_data_ptr<float>() + i);
    else if (flat.scalar_type() == at::kDouble)
      read(flat.mutable_data_ptr<double>() + i);
    else
      read(flat.mutable_data_ptr<std::int64_t>() + i);
  }
  return flat.to(scalar_type_of(dtype)).reshape(sizes);
}

at::Tensor tensor_from_base64(DType dtype, const std::vector<std::int64_t>& sizes, const std::string& text) {
  const std::string bytes = decode_base64(text);
  const c10::ScalarType type = scalar_type_of(dtype);
  const std::int64_t count = element_count(sizes);
  QUENCH_CHECK(bytes.size() / c10::elementSize(type) == static_cast<std::size_t>(count) &&
                   bytes.size() % c10::elementSize(type) == 0,
               "a tensor of ", count, " elements is given ", bytes.size(), " bytes");
  at::Tensor tensor = at::empty(sizes, type);
  if (!bytes.empty()) std::memcpy(tensor.mutable_data_ptr(), bytes.data(), bytes.size());
  return tensor;
}

}  // namespace quench
