// Bytes of zip archives and pickles, written by hand so that tests can make them lie.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace quench {

template <typename T>
std::string little(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
}

inline std::uint32_t crc32_of(const std::string& bytes) {
  static const std::vector<std::uint32_t> table = [] {
    std::vector<std::uint32_t> entries(256);
    for (std::uint32_t i = 0; i < 256; ++i) {
      entries[i] = i;
      for (int bit = 0; bit < 8; ++bit) entries[i] = entries[i] >> 1 ^ (entries[i] & 1 ? 0xEDB88320U : 0U);
    }
    return entries;
  }();
  std::uint32_t crc = ~0U;
  for (const char byte : bytes) crc = crc >> 8 ^ table[(crc ^ static_cast<unsigned char>(byte)) & 0xFF];
  return ~crc;
}

struct ZipMember {
  std::string name, data;
  std::uint16_t method = 0;        // 0 stored
  std::int64_t claimed_size = -1;  // -1: the truth
};

inline std::string zip_bytes(const std::vector<ZipMember>& members) {
  std::string body, directory;
  for (const ZipMember& m : members) {
    const auto size =
        static_cast<std::uint32_t>(m.claimed_size >= 0 ? m.claimed_size : static_cast<std::int64_t>(m.data.size()));
    const std::string common = little<std::uint16_t>(20) + little<std::uint16_t>(0) + little(m.method) +
                               little<std::uint32_t>(0) + little(crc32_of(m.data)) + little(size) + little(size) +
                               little(static_cast<std::uint16_t>(m.name.size())) + little<std::uint16_t>(0);
    directory += "PK\x01\x02" + little<std::uint16_t>(20) + common + little<std::uint16_t>(0) +
                 little<std::uint16_t>(0) + little<std::uint16_t>(0) + little<std::uint32_t>(0) +
                 little(static_cast<std::uint32_t>(body.size())) + m.name;
    body += "PK\x03\x04" + common + m.name + m.data;
  }
  const auto count = static_cast<std::uint16_t>(members.size());
  return body + directory + "PK\x05\x06" + little<std::uint32_t>(0) + little(count) + little(count) +
         little(static_cast<std::uint32_t>(directory.size())) + little(static_cast<std::uint32_t>(body.size())) +
         little<std::uint16_t>(0);
}

namespace pickled {

inline std::string text(const std::string& value) {
  return "X" + little(static_cast<std::uint32_t>(value.size())) + value;
}
inline std::string integer(std::int32_t value) { return "J" + little(value); }
inline std::string long_integer(std::int64_t value) { return std::string("\x8a\x08") + little(value); }
inline std::string global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}
inline std::string tuple(const std::vector<std::string>& items) {
  std::string bytes = "(";
  for (const std::string& item : items) bytes += item;
  return bytes + "t";
}
inline std::string storage(const std::string& type, const std::string& key, std::int64_t elements) {
  return tuple({text("storage"), global("torch", type), text(key), text("cpu"), long_integer(elements)}) + "Q";
}
inline std::string sizes(const std::vector<std::int64_t>& values) {
  std::vector<std::string> items;
  for (const std::int64_t value : values) items.push_back(long_integer(value));
  return tuple(items);
}
inline std::string tensor(const std::string& storage_bytes, std::int64_t offset, const std::vector<std::int64_t>& shape,
                          const std::vector<std::int64_t>& strides) {
  const std::string hooks = global("collections", "OrderedDict") + ")R";
  return global("torch._utils", "_rebuild_tensor_v2") +
         tuple({storage_bytes, long_integer(offset), sizes(shape), sizes(strides), "\x89", hooks}) + "R";
}
inline std::string dict(const std::vector<std::pair<std::string, std::string>>& items) {
  std::string bytes = "}(";
  for (const auto& [key, value] : items) bytes += text(key) + value;
  return bytes + "u";
}
inline std::string whole(const std::string& value) { return "\x80\x02" + value + "."; }

}  // namespace pickled

// A file in a folder of its own, gone at the end of the test.
class TempFile {
 public:
  explicit TempFile(const std::string& bytes, const std::string& name = "weights.pt") {
    static int count = 0;
    folder_ = std::filesystem::temp_directory_path() /
              ("quench_zoo_" + std::to_string(::getpid()) + "_" + std::to_string(count++));
    std::filesystem::create_directories(folder_);
    path_ = (folder_ / name).string();
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  ~TempFile() { std::filesystem::remove_all(folder_); }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::filesystem::path folder_;
  std::string path_;
};

}  // namespace quench
