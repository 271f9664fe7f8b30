// TensorBoard's event file: scalars by tag and step. The format is TFRecord (a length, its checksum, the bytes, their
// checksum) around small protobuf messages, which are written by hand here.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

namespace quench {

class EventFile {
 public:
  // Opens FOLDER/events.out.tfevents.TIME.quench, which TensorBoard finds. Events from `first_step` on replace those of
  // an earlier file in the folder.
  explicit EventFile(const std::string& folder, std::int64_t first_step = 0);
  void add(const std::string& tag, double value, std::int64_t step);

 private:
  void write(std::string_view event);
  std::ofstream file_;
};

// Castagnoli's CRC-32, masked as TFRecord has it.
std::uint32_t masked_crc32c(std::string_view bytes);

}  // namespace quench
