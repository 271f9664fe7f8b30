#include "plugin/elf_section.h"

#include <elf.h>
#include <link.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "quench/error.h"

namespace quench {
namespace {

using Header = ElfW(Ehdr);
using Section = ElfW(Shdr);

constexpr std::uint64_t kLargestSection = 1 << 20;  // of those that are read: names and tags are small
constexpr unsigned char kOurClass = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;

class ElfFile {
 public:
  explicit ElfFile(const std::string& path) : path_(path) {
    QUENCH_CHECK(std::filesystem::exists(path), "'", path, "' does not exist");
    if (std::filesystem::is_regular_file(path)) in_.open(path, std::ios::binary);  // a pipe would be waited for
    QUENCH_CHECK(in_.is_open(), "'", path, "' cannot be read");
    const std::string bytes = read(0, sizeof(Header), "a shared library");
    std::memcpy(&header_, bytes.data(), sizeof(Header));
    QUENCH_CHECK(std::memcmp(header_.e_ident, ELFMAG, SELFMAG) == 0, "'", path, "' is not a shared library");
    QUENCH_CHECK(header_.e_ident[EI_CLASS] == kOurClass, "'", path, "' is a ", 96 - 8 * sizeof(void*),
                 "-bit file; this quench has ", 8 * sizeof(void*), " bits");
    QUENCH_CHECK(header_.e_type == ET_DYN, "'", path, "' is not a shared library");
    QUENCH_CHECK(header_.e_shnum == 0 || header_.e_shentsize == sizeof(Section), "'", path,
                 "' is broken: its sections have ", header_.e_shentsize, " bytes each");
  }

  std::optional<std::string> section(const std::string& name) {
    if (header_.e_shnum == 0) return std::nullopt;
    const std::string names = content(at(header_.e_shstrndx));
    for (std::size_t i = 0; i < header_.e_shnum; ++i) {
      const Section one = at(i);
      if (one.sh_name < names.size() && names.c_str() + one.sh_name == name) return content(one);
    }
    return std::nullopt;
  }

 private:
  std::string read(std::uint64_t offset, std::uint64_t size, const char* what) {
    std::string bytes(size, '\0');
    in_.clear();
    in_.seekg(static_cast<std::streamoff>(offset));
    in_.read(bytes.data(), static_cast<std::streamsize>(size));
    QUENCH_CHECK(in_, "'", path_, "' is too short for ", what);
    return bytes;
  }

  Section at(std::size_t index) {
    const std::string bytes = read(header_.e_shoff + index * sizeof(Section), sizeof(Section), "its sections");
    Section section;
    std::memcpy(&section, bytes.data(), sizeof(Section));
    return section;
  }

  std::string content(const Section& section) {
    QUENCH_CHECK(section.sh_size <= kLargestSection, "'", path_, "' is broken: a section of ", section.sh_size,
                 " bytes");
    return read(section.sh_offset, section.sh_size, "its sections");
  }

  std::string path_;
  std::ifstream in_;
  Header header_{};
};

}  // namespace

std::optional<std::string> elf_section(const std::string& path, const std::string& name) {
  return ElfFile(path).section(name);
}

}  // namespace quench
