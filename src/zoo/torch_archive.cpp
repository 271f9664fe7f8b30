// A zip of torch.save: "NAME/data.pkl" is the pickle, "NAME/data/KEY" are the storages.
#include "zoo/torch_archive.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "core/zip_archive.h"
#include "quench/error.h"

namespace quench {
namespace {

constexpr std::uint64_t kMaxPickleBytes = 64 << 20;

class ZippedArchive : public TorchArchive {
 public:
  explicit ZippedArchive(const std::string& path) : zip_(path), prefix_(find_prefix()) {
    check_byte_order();
    tree_ = read_pickle(read_text("data.pkl", kMaxPickleBytes));
  }

  std::uint64_t storage_bytes(const std::string& key) const override { return zip_.size(prefix_ + "data/" + key); }
  void read_storage(const std::string& key, void* to, std::uint64_t count) const override {
    zip_.read(prefix_ + "data/" + key, to, count);
  }
  std::uint64_t file_size() const override { return zip_.file_size(); }

 private:
  std::string find_prefix() const {
    std::string found;
    for (const std::string& name : zip_.names()) {
      if (name == "constants.pkl" || name.ends_with("/constants.pkl"))
        fail("it is a TorchScript archive, not a state dict; save module.state_dict() with torch.save instead");
      if (!name.ends_with("/data.pkl") || name.find('/') != name.size() - 9) continue;
      QUENCH_CHECK(found.empty(), "it holds two pickles, '", found, "data.pkl' and '", name, "'");
      found = name.substr(0, name.size() - 8);
    }
    QUENCH_CHECK(!found.empty(), "it is a zip without a 'data.pkl': not written by torch.save");
    return found;
  }

  std::string read_text(const std::string& member, std::uint64_t limit) const {
    const std::string name = prefix_ + member;
    const std::uint64_t size = zip_.size(name);
    QUENCH_CHECK(size <= limit, "'", name, "' has ", size, " bytes; ", limit, " at most");
    std::string text(size, '\0');
    zip_.read(name, text.data(), size);
    return text;
  }

  void check_byte_order() const {
    if (!zip_.has(prefix_ + "byteorder")) return;  // older files are little-endian
    const std::string order = read_text("byteorder", 16);
    QUENCH_CHECK(order == "little", "its byte order is '", order, "'; only little-endian files are read");
  }

  ZipArchive zip_;
  std::string prefix_;
};

bool is_zip(const std::string& start) { return start.starts_with("PK"); }
bool is_bare_pickle(const std::string& start) {
  return start.size() >= 2 && start[0] == '\x80' && start[1] >= 2 && start[1] <= 5;
}

}  // namespace

std::string first_bytes(const std::string& path, std::size_t count) {
  std::ifstream file(path, std::ios::binary);
  QUENCH_CHECK(file, "cannot open '", path, "': ", std::strerror(errno));
  std::string bytes(count, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(count));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

bool is_torch_file(const std::string& first_bytes) { return is_zip(first_bytes) || is_bare_pickle(first_bytes); }

std::unique_ptr<TorchArchive> open_torch_archive(const std::string& path) {
  const std::string start = first_bytes(path, 16);
  if (is_bare_pickle(start)) return open_legacy_archive(path);
  QUENCH_CHECK(is_zip(start), "it is not a zip archive as torch.save writes it");
  return std::make_unique<ZippedArchive>(path);
}

}  // namespace quench
