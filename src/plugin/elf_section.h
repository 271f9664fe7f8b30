// One section of an ELF file, read without loading it.
#pragma once

#include <optional>
#include <string>

namespace quench {

// Throws if the file cannot be read or is not a shared library for this kind of machine; nothing if it has no such
// section.
std::optional<std::string> elf_section(const std::string& path, const std::string& name);

}  // namespace quench
