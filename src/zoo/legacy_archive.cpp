// Files of torch.save before 1.6: pickles of a magic number, a version, facts of the machine, the object and the keys
// of its storages; then each storage, its count of elements (int64) before its bytes.
#include <ATen/ATen.h>

#include <array>
#include <bit>
#include <cstring>
#include <fstream>
#include <map>

#include "quench/error.h"
#include "zoo/pickle_globals.h"
#include "zoo/torch_archive.h"

namespace quench {
namespace {

using Kind = PickleValue::Kind;

// 0x1950a86a20f9469cfc6c as a pickle of protocol 2.
constexpr std::string_view kMagic("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 15);
constexpr std::int64_t kVersion = 1001;

class LegacyArchive : public TorchArchive {
 public:
  explicit LegacyArchive(const std::string& path) : bytes_(read_whole(path)) {
    QUENCH_CHECK(bytes_.starts_with(kMagic), "it is a bare pickle, not a file of torch.save");
    at_ = kMagic.size();
    check_version(next_pickle());
    check_byte_order(next_pickle());
    tree_ = next_pickle();
    find_storages(next_pickle());
  }

  std::uint64_t storage_bytes(const std::string& key) const override { return part(key).size(); }
  void read_storage(const std::string& key, void* to, std::uint64_t count) const override {
    std::memcpy(to, part(key).data(), count);
  }
  std::uint64_t file_size() const override { return bytes_.size(); }

 private:
  static std::string read_whole(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  PickleTree next_pickle() {
    PickleTree tree = read_pickle(std::string_view(bytes_).substr(at_));
    at_ += tree.end;
    return tree;
  }

  static void check_version(const PickleTree& tree) {
    const PickleValue& version = tree.at(tree.root);
    QUENCH_CHECK(version.kind == Kind::kInt && version.number == kVersion, "it does not have version ", kVersion,
                 " of torch.save's old format");
  }

  static void check_byte_order(const PickleTree& tree) {
    const PickleValue& facts = tree.at(tree.root);
    for (std::size_t i = 0; facts.kind == Kind::kDict && i + 1 < facts.items.size(); i += 2)
      if (tree.at(facts.items[i]).text == "little_endian")
        QUENCH_CHECK(tree.at(facts.items[i + 1]).number == 1, "only little-endian files are read");
  }

  // The object's pickle says how wide an element is.
  std::map<std::string, std::uint64_t> widths() const {
    std::map<std::string, std::uint64_t> result;
    for (const PickleValue& value : tree_.values)
      if (value.kind == Kind::kStorage)
        result[value.text] = c10::elementSize(*storage_dtype(tree_.at(value.items[0]).text));
    return result;
  }

  void find_storages(const PickleTree& keys) {
    const std::map<std::string, std::uint64_t> widths = this->widths();
    const PickleValue& list = keys.at(keys.root);
    QUENCH_CHECK(list.kind == Kind::kList, "the keys of its storages are ", name_of(list.kind), ", not a list");
    for (const int item : list.items) {
      const std::string& key = keys.at(item).text;
      const auto width = widths.find(key);
      QUENCH_CHECK(width != widths.end(), "storage '", key, "' belongs to no tensor");
      const auto count = std::bit_cast<std::int64_t>(take<8>());
      const std::uint64_t left = bytes_.size() - at_;
      QUENCH_CHECK(count >= 0 && static_cast<std::uint64_t>(count) <= left / width->second, "storage '", key,
                   "' claims ", count, " elements of ", width->second, " bytes; the file has ", left, " bytes left");
      const std::uint64_t size = static_cast<std::uint64_t>(count) * width->second;
      QUENCH_CHECK(parts_.try_emplace(key, std::string_view(bytes_).substr(at_, size)).second, "storage '", key,
                   "' is there twice");
      at_ += size;
    }
  }

  template <std::size_t N>
  std::array<char, N> take() {
    QUENCH_CHECK(bytes_.size() - at_ >= N, "it ends within its storages");
    std::array<char, N> result;
    std::memcpy(result.data(), bytes_.data() + at_, N);
    at_ += N;
    return result;
  }

  std::string_view part(const std::string& key) const {
    const auto at = parts_.find(key);
    QUENCH_CHECK(at != parts_.end(), "the file has no storage '", key, "'");
    return at->second;
  }

  std::string bytes_;
  std::size_t at_ = 0;
  std::map<std::string, std::string_view> parts_;
};

}  // namespace

std::unique_ptr<TorchArchive> open_legacy_archive(const std::string& path) {
  return std::make_unique<LegacyArchive>(path);
}

}  // namespace quench
