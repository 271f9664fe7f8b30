#include "qat/event_file.h"

#include <array>
#include <bit>
#include <chrono>
#include <filesystem>

#include "quench/error.h"

namespace quench {
namespace {

constexpr std::uint32_t kCastagnoli = 0x82f63b78;  // reflected

constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kCastagnoli : 0);
    table[i] = crc;
  }
  return table;
}

template <typename T>
std::string little_endian(T number) {
  static_assert(std::endian::native == std::endian::little);
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

// Protobuf: a field's number and wire type, then its value.
std::string varint(std::uint64_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7) bytes.push_back(static_cast<char>(number | 0x80));
  bytes.push_back(static_cast<char>(number));
  return bytes;
}
std::string tag(int field, int wire) { return varint(static_cast<std::uint64_t>(field << 3 | wire)); }
std::string field_double(int field, double value) { return tag(field, 1) + little_endian(value); }
std::string field_float(int field, float value) { return tag(field, 5) + little_endian(value); }
std::string field_int(int field, std::int64_t value) {
  return tag(field, 0) + varint(static_cast<std::uint64_t>(value));
}
std::string field_bytes(int field, const std::string& bytes) { return tag(field, 2) + varint(bytes.size()) + bytes; }

double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// tensorflow.Event: 1 wall_time, 2 step, 3 file_version, 5 summary, 7 session_log (1 status: START is 1).
std::string event(std::int64_t step, const std::string& what) {
  return field_double(1, wall_time()) + field_int(2, step) + what;
}

}  // namespace

std::uint32_t masked_crc32c(std::string_view bytes) {
  static constexpr std::array<std::uint32_t, 256> table = crc_table();
  std::uint32_t crc = 0xffffffff;
  for (const char byte : bytes) crc = table[(crc ^ static_cast<unsigned char>(byte)) & 0xff] ^ (crc >> 8);
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8;
}

EventFile::EventFile(const std::string& folder, std::int64_t first_step) {
  const auto seconds = static_cast<std::int64_t>(wall_time());
  std::filesystem::path path;
  for (std::int64_t i = 0; i == 0 || std::filesystem::exists(path); ++i)
    path = std::filesystem::path(folder) / concat("events.out.tfevents.", seconds + i, ".quench");
  file_.open(path, std::ios::binary);
  QUENCH_CHECK(file_, "cannot write '", path.string(), "'");
  write(field_double(1, wall_time()) + field_bytes(3, "brain.Event:2"));
  if (first_step > 0) write(event(first_step, field_bytes(7, field_int(1, 1))));
}

void EventFile::add(const std::string& name, double value, std::int64_t step) {
  // Summary.Value: 1 tag, 2 simple_value.
  const std::string one = field_bytes(1, name) + field_float(2, static_cast<float>(value));
  write(event(step, field_bytes(5, field_bytes(1, one))));
}

void EventFile::write(std::string_view bytes) {
  const std::string length = little_endian(static_cast<std::uint64_t>(bytes.size()));
  file_ << length << little_endian(masked_crc32c(length)) << bytes << little_endian(masked_crc32c(bytes));
  file_.flush();
}

}  // namespace quench
