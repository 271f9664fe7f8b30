#include "core/cpu_quirks.h"

#include <array>
#include <cstdlib>

#include "quench/error.h"
#include "quench/process.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif

namespace quench {

bool hides_amx_palette(const CpuFacts& facts) {
  constexpr std::uint32_t kTileLeaf = 0x1D;
  return facts.amx_tile && (facts.largest_leaf < kTileLeaf || facts.tile_palettes == 0);
}

#ifdef __x86_64__
namespace {

struct Registers {
  std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers leaf(std::uint32_t number, std::uint32_t sub = 0) {
  Registers r;
  if (__get_cpuid_max(0, nullptr) >= number) __cpuid_count(number, sub, r.eax, r.ebx, r.ecx, r.edx);
  return r;
}

}  // namespace

CpuFacts read_cpu() {
  const Registers one = leaf(1), seven = leaf(7), seven1 = leaf(7, 1);
  struct Feature {
    const char* name;
    std::uint32_t bits;
    int bit;
  };
  const std::array<Feature, 14> features = {{{"sse4_2", one.ecx, 20},
                                             {"fma", one.ecx, 12},
                                             {"f16c", one.ecx, 29},
                                             {"avx", one.ecx, 28},
                                             {"avx2", seven.ebx, 5},
                                             {"avx_vnni", seven1.eax, 4},
                                             {"avx512f", seven.ebx, 16},
                                             {"avx512bw", seven.ebx, 30},
                                             {"avx512_vnni", seven.ecx, 11},
                                             {"avx512_bf16", seven1.eax, 5},
                                             {"avx512_fp16", seven.edx, 23},
                                             {"amx_tile", seven.edx, 24},
                                             {"amx_int8", seven.edx, 25},
                                             {"amx_bf16", seven.edx, 22}}};
  CpuFacts facts;
  for (const Feature& feature : features)
    if ((feature.bits >> feature.bit) & 1U) facts.instruction_sets.emplace_back(feature.name);
  facts.amx_tile = ((seven.edx >> 24) & 1U) != 0;
  facts.largest_leaf = __get_cpuid_max(0, nullptr);
  facts.tile_palettes = leaf(0x1D).eax;
  return facts;
}
#else
CpuFacts read_cpu() { return {}; }
#endif

std::string avoid_cpu_quirks() {
  if (!hides_amx_palette(read_cpu())) return "";
  const char* set = std::getenv(kIsaVariable);
  if (set) return concat("AMX is advertised without a tile palette; ", kIsaVariable, "=", set, " was already set");
  ::setenv(kIsaVariable, kIsaWithoutAmx, 0);
  return concat("AMX is advertised without a tile palette; ", kIsaVariable, "=", kIsaWithoutAmx, " was set");
}

}  // namespace quench
