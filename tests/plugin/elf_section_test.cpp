#include "plugin/elf_section.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace quench {
namespace {

TEST(ElfSection, IsReadWithoutLoading) {
  const auto folder = std::filesystem::path(std::getenv("QUENCH_PROGRAM")).parent_path();
  const std::string path = (folder / "test_plugin.so").string();
  const std::optional<std::string> tag = elf_section(path, ".quench_plugin");
  ASSERT_TRUE(tag);
  EXPECT_EQ(tag->find("quench: " QUENCH_VERSION "\nLibTorch: "), 0U) << *tag;
  EXPECT_FALSE(elf_section(path, ".quench_plugi"));
  EXPECT_FALSE(elf_section(path, "quench_plugin"));
}

}  // namespace
}  // namespace quench
