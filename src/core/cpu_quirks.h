// What this processor reports about itself (CPUID), and whether it can be believed: docs/runtimes.md 5.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace quench {

struct CpuFacts {
  bool amx_tile = false;                      // leaf 7, EDX bit 24: tiles are advertised
  std::uint32_t largest_leaf = 0;             // leaf 0, EAX
  std::uint32_t tile_palettes = 0;            // leaf 1DH, EAX: how many palettes there are
  std::vector<std::string> instruction_sets;  // those that matter here: "avx2", "avx512_vnni", "amx_int8" ...
};

CpuFacts read_cpu();  // all empty on a processor that is not x86-64

// AMX is advertised but has no palette to configure its tiles with.
bool hides_amx_palette(const CpuFacts& facts);

// The setting that keeps oneDNN away from AMX.
inline constexpr const char* kIsaVariable = "ONEDNN_MAX_CPU_ISA";
inline constexpr const char* kIsaWithoutAmx = "AVX512_CORE_FP16";

}  // namespace quench
