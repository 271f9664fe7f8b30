#include "fuzz/zip_mutator.h"

#include <zip.h>

#include <memory>

namespace quench {
namespace {

struct Member {
  std::string name;
  Bytes bytes;
};

struct Close {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_file_t* file) const { zip_fclose(file); }
  void operator()(zip_source_t* source) const { zip_source_free(source); }
};
using Archive = std::unique_ptr<zip_t, Close>;
using Source = std::unique_ptr<zip_source_t, Close>;

constexpr std::uint64_t kMost = 16 << 20;

std::vector<Member> unpack(Bytes& bytes) {
  Source source(zip_source_buffer_create(bytes.data(), bytes.size(), 0, nullptr));
  if (!source) return {};
  const Archive archive(zip_open_from_source(source.get(), ZIP_RDONLY, nullptr));
  if (!archive) return {};
  source.release();  // the archive's from here on
  std::vector<Member> members;
  std::uint64_t total = 0;
  for (zip_int64_t i = 0; i < zip_get_num_entries(archive.get(), 0); ++i) {
    zip_stat_t stat;
    if (zip_stat_index(archive.get(), static_cast<zip_uint64_t>(i), 0, &stat) != 0) continue;
    if ((stat.valid & ZIP_STAT_SIZE) == 0 || (total += stat.size) > kMost) return {};
    const std::unique_ptr<zip_file_t, Close> file(zip_fopen_index(archive.get(), static_cast<zip_uint64_t>(i), 0));
    if (!file) continue;
    Member member{stat.name, Bytes(stat.size)};
    const zip_int64_t count = zip_fread(file.get(), member.bytes.data(), member.bytes.size());
    if (count == static_cast<zip_int64_t>(member.bytes.size())) members.push_back(std::move(member));
  }
  return members;
}

// Stored members, one after another, then the directory: zip's smallest form.
class Packer {
 public:
  void add(const Member& member) {
    const auto start = static_cast<std::uint32_t>(packed_.size());
    const Bytes head = head_of(member);
    put(packed_, 0x04034b50, 4);
    packed_.insert(packed_.end(), head.begin(), head.end());
    packed_.insert(packed_.end(), member.name.begin(), member.name.end());
    packed_.insert(packed_.end(), member.bytes.begin(), member.bytes.end());
    put(directory_, 0x02014b50, 4);
    put(directory_, 20, 2);
    directory_.insert(directory_.end(), head.begin(), head.end());
    put(directory_, 0, 10);  // no comment, first disk, no attributes
    put(directory_, start, 4);
    directory_.insert(directory_.end(), member.name.begin(), member.name.end());
    ++count_;
  }
  Bytes finish() {
    const auto start = static_cast<std::uint32_t>(packed_.size());
    packed_.insert(packed_.end(), directory_.begin(), directory_.end());
    put(packed_, 0x06054b50, 4);
    put(packed_, 0, 4);
    put(packed_, count_, 2);
    put(packed_, count_, 2);
    put(packed_, directory_.size(), 4);
    put(packed_, start, 4);
    put(packed_, 0, 2);
    return std::move(packed_);
  }

 private:
  // What both records of a member share: version, flags, method, date, checksum, sizes, name's length.
  static Bytes head_of(const Member& member) {
    Bytes head;
    put(head, 20, 2);
    put(head, 0, 4);
    put(head, 0x00210000, 4);
    put(head, checksum(member.bytes), 4);
    put(head, member.bytes.size(), 4);
    put(head, member.bytes.size(), 4);
    put(head, member.name.size(), 2);
    put(head, 0, 2);
    return head;
  }
  static void put(Bytes& to, std::uint64_t number, int count) {
    for (int i = 0; i < count; ++i) to.push_back(i < 8 ? static_cast<std::uint8_t>(number >> (8 * i)) : 0);
  }
  static std::uint32_t checksum(const Bytes& bytes) {
    std::uint32_t sum = 0xffffffff;
    for (const std::uint8_t byte : bytes) {
      sum ^= byte;
      for (int i = 0; i < 8; ++i) sum = (sum >> 1) ^ (0xedb88320 & (0 - (sum & 1)));
    }
    return ~sum;
  }

  Bytes packed_, directory_;
  unsigned count_ = 0;
};

void change(std::vector<Member>& members, Random& random, const MutateMember& mutate_member) {
  const std::size_t at = below(random, members.size());
  switch (random() % 16) {
    case 0: members.push_back(members[at]); break;
    case 1: members.erase(members.begin() + static_cast<std::ptrdiff_t>(at)); break;
    case 2: members[at].name = members[below(random, members.size())].name + "x"; break;
    case 3: members[at].bytes = members[below(random, members.size())].bytes; break;
    default: mutate_member(members[at].name, members[at].bytes);
  }
}

}  // namespace

bool mutate_zip(Bytes& bytes, Random& random, const MutateMember& mutate_member) {
  std::vector<Member> members = unpack(bytes);
  if (members.empty()) return false;
  change(members, random, mutate_member);
  Packer packer;
  for (const Member& member : members) packer.add(member);
  bytes = packer.finish();
  return true;
}

}  // namespace quench
