// TensorBoard's format, byte by byte.
#include "qat/event_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "data/files.h"

namespace quench {
namespace {

// The check value of CRC-32C is that of "123456789": e3069283; TFRecord rotates it by 15 and adds a constant.
TEST(EventFile, ChecksumIsMaskedCrc32c) {
  const std::uint32_t crc = 0xe3069283;
  EXPECT_EQ(masked_crc32c("123456789"), ((crc >> 15) | (crc << 17)) + 0xa282ead8);
}

TEST(EventFile, RecordsAreFramed) {
  const TempFolder folder;
  {
    EventFile file(folder.path(""), 0);
    file.add("loss", 0.5, 300);
  }
  std::string bytes;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path(""))) {
    EXPECT_TRUE(entry.path().filename().string().starts_with("events.out.tfevents."));
    std::ifstream file(entry.path(), std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  }
  std::vector<std::string> records;
  for (std::size_t at = 0; at < bytes.size();) {
    std::uint64_t length = 0;
    std::uint32_t of_length = 0, of_data = 0;
    std::memcpy(&length, bytes.data() + at, 8);
    std::memcpy(&of_length, bytes.data() + at + 8, 4);
    EXPECT_EQ(of_length, masked_crc32c(std::string_view(bytes).substr(at, 8)));
    records.push_back(bytes.substr(at + 12, length));
    std::memcpy(&of_data, bytes.data() + at + 12 + length, 4);
    EXPECT_EQ(of_data, masked_crc32c(records.back()));
    at += 16 + length;
  }
  ASSERT_EQ(records.size(), 2U);
  EXPECT_NE(records[0].find("brain.Event:2"), std::string::npos);
  // Field 2 (step) is the varint 300; then summary { value { tag: "loss" simple_value: 0.5 } }.
  EXPECT_EQ(records[1].substr(9), std::string("\x10\xac\x02\x2a\x0d\x0a\x0b\x0a\x04loss\x15\x00\x00\x00\x3f", 18));
}

}  // namespace
}  // namespace quench
