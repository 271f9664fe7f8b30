// JPEG and PNG. Changed PNGs get correct checksums, without which none of their content is read.
#include <zlib.h>

#include <string_view>

#include "data/image.h"
#include "fuzz/target.h"

namespace quench {
namespace {

void read_image(const Bytes& bytes) {
  const Image image = decode_image(bytes);
  with_channels(image, 1);
}

std::size_t big_endian(const Bytes& bytes, std::size_t at) {
  return std::size_t{bytes[at]} << 24 | std::size_t{bytes[at + 1]} << 16 | std::size_t{bytes[at + 2]} << 8 |
         bytes[at + 3];
}

// A chunk: length, name, data, checksum of name and data.
void correct_checksums(Bytes& bytes) {
  for (std::size_t at = 8; at + 12 <= bytes.size();) {
    const std::size_t length = big_endian(bytes, at);
    if (length > bytes.size() - at - 12) return;
    const auto sum = crc32(0, bytes.data() + at + 4, static_cast<unsigned>(length) + 4);
    for (std::size_t i = 0; i < 4; ++i) bytes[at + 8 + length + i] = static_cast<std::uint8_t>(sum >> (24 - 8 * i));
    at += length + 12;
  }
}

bool mutate_image(Bytes& bytes, Random&, const MutateBytes& mutate_bytes) {
  static constexpr std::string_view kPng = "\x89PNG\r\n\x1a\n";
  mutate_bytes(bytes);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with(kPng)) correct_checksums(bytes);
  return true;
}

QUENCH_REGISTER_ITEM(FuzzTarget, "image", "decode_image", {read_image, mutate_image})

}  // namespace
}  // namespace quench
