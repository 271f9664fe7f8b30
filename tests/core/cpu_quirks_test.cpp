#include "core/cpu_quirks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "quench/process.h"

namespace quench {
namespace {

TEST(CpuQuirks, BelievesAProcessorWithoutAmx) { EXPECT_FALSE(hides_amx_palette({false, 0x20, 0, {}})); }
TEST(CpuQuirks, BelievesAmxWithAPalette) { EXPECT_FALSE(hides_amx_palette({true, 0x20, 1, {}})); }
TEST(CpuQuirks, DoubtsAmxWhosePaletteReadsZero) { EXPECT_TRUE(hides_amx_palette({true, 0x20, 0, {}})); }
TEST(CpuQuirks, DoubtsAmxWithoutTheLeafOfThePalette) { EXPECT_TRUE(hides_amx_palette({true, 0x16, 7, {}})); }

TEST(CpuQuirks, NamesAmxExactlyWhereItIsAdvertised) {
  const CpuFacts facts = read_cpu();
  const auto& sets = facts.instruction_sets;
  EXPECT_EQ(std::count(sets.begin(), sets.end(), "amx_tile") == 1, facts.amx_tile);
}

TEST(CpuQuirks, SetsTheVariableOnlyWhereNeededAndKeepsTheUsersChoice) {
  const bool needed = hides_amx_palette(read_cpu());
  ::setenv(kIsaVariable, "AVX2", 1);
  const std::string said = avoid_cpu_quirks();
  EXPECT_STREQ(std::getenv(kIsaVariable), "AVX2");
  EXPECT_EQ(said.empty(), !needed);
  ::unsetenv(kIsaVariable);
  avoid_cpu_quirks();
  EXPECT_EQ(std::getenv(kIsaVariable) != nullptr, needed);
}

}  // namespace
}  // namespace quench
