#include "data/npy.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "graph/tensor_types.h"
#include "quench/error.h"

namespace quench {
namespace {

constexpr std::uint64_t kLongestHeader = 65536;

// The dictionary, of versions 1 to 3; `size` shrinks by what was read.
std::string read_header_text(const ReadExactly& read, std::uint64_t& size) {
  std::array<std::uint8_t, 8> magic{};
  QUENCH_CHECK(size >= magic.size(), "it has ", size, " bytes, fewer than the header of an .npy file");
  read(magic.data(), magic.size());
  QUENCH_CHECK(std::memcmp(magic.data(), "\x93NUMPY", 6) == 0, "it does not begin as an .npy file does");
  QUENCH_CHECK(magic[6] >= 1 && magic[6] <= 3, "its format version is ", int{magic[6]}, "; 1 to 3 are read");
  std::array<std::uint8_t, 4> count{};
  const std::size_t count_bytes = magic[6] == 1 ? 2 : 4;
  QUENCH_CHECK(size >= magic.size() + count_bytes, "it is truncated in the header");
  read(count.data(), count_bytes);
  size -= magic.size() + count_bytes;
  const std::uint64_t length = count[0] | count[1] << 8 | count[2] << 16 | std::uint64_t{count[3]} << 24;
  QUENCH_CHECK(length <= kLongestHeader, "its header claims ", length, " bytes; the limit is ", kLongestHeader);
  QUENCH_CHECK(length <= size, "it is truncated: its header claims ", length, " bytes, ", size, " are left");
  std::string text(length, '\0');
  read(text.data(), text.size());
  size -= length;
  return text;
}

void swap_bytes(std::uint8_t* data, std::uint64_t bytes, std::size_t width) {
  for (std::uint8_t* at = data; at != data + bytes; at += width) std::reverse(at, at + width);
}

void fix_bytes(const NpyHeader& header, std::uint8_t* data, std::uint64_t bytes) {
  const bool is_complex = header.dtype == DType::kComplex64 || header.dtype == DType::kComplex128;
  const auto width = static_cast<std::size_t>(bits_of(header.dtype)) / (is_complex ? 16 : 8);
  const bool native = header.big_endian == (std::endian::native == std::endian::big);
  if (!native && width > 1) swap_bytes(data, bytes, width);
  if (header.dtype != DType::kBool) return;
  // Any other byte in a bool is undefined behaviour later on.
  std::transform(data, data + bytes, data, [](std::uint8_t byte) { return byte != 0 ? 1 : 0; });
}

}  // namespace

NamedValues for_numpy(const NamedValues& values) {
  NamedValues result = values;
  for (auto& [name, value] : result)
    if (value.is_tensor() && value.dtype() == DType::kBfloat16) value = RtValue(value.tensor().to(at::kFloat));
  return result;
}

RtValue read_npy(const ReadExactly& read, std::uint64_t size) {
  const NpyHeader header = parse_npy_header(read_header_text(read, size));
  const std::uint64_t bytes = header.data_bytes();
  QUENCH_CHECK(bytes == size, "its shape and type take ", bytes, " bytes, but ", size, " are there");
  std::vector<std::int64_t> dims = header.dims;
  if (header.fortran_order) std::reverse(dims.begin(), dims.end());
  at::Tensor tensor = at::empty(dims, scalar_type_of(header.dtype));
  auto* data = static_cast<std::uint8_t*>(tensor.mutable_data_ptr());
  if (bytes > 0) read(data, bytes);
  fix_bytes(header, data, bytes);
  if (header.fortran_order && dims.size() > 1) {
    std::vector<std::int64_t> order(dims.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(order.size() - 1 - i);
    tensor = tensor.permute(order).contiguous();
  }
  return {tensor, header.dtype};
}

}  // namespace quench
