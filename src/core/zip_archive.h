// ZipArchive: the members of a zip whose data is stored uncompressed, as torch.save writes it. Compressed
// members are not read, so a small file cannot unpack into a large one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace quench {

class ZipArchive {
 public:
  explicit ZipArchive(const std::string& path);  // throws when it is not a whole zip
  ~ZipArchive();
  ZipArchive(const ZipArchive&) = delete;
  ZipArchive& operator=(const ZipArchive&) = delete;

  std::vector<std::string> names() const;
  bool has(const std::string& name) const;
  std::uint64_t size(const std::string& name) const;                        // of a stored member; throws for others
  void read(const std::string& name, void* to, std::uint64_t count) const;  // the whole member, of that size
  std::uint64_t file_size() const;
  std::uint64_t unpacked_size() const;  // of all members, compressed or not, as the archive claims it

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quench
