// A fuzz target: what a reader does with untrusted bytes, and how bytes are changed so that they still get past
// its first checks. One file per reader, NAME_target.cpp, built twice: with libFuzzer (fuzzer.cpp), and into
// fuzz_test, which runs what was once found (tests/data/fuzz/NAME) in every build.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "quench/registry.h"

namespace quench {

using Bytes = std::vector<std::uint8_t>;
using Random = std::mt19937;

// Changes plain bytes; libFuzzer's own, which has seen what the reader compares them with.
using MutateBytes = std::function<void(Bytes&)>;

struct FuzzTarget {
  static constexpr const char* kKind = "fuzz target";
  void (*read)(const Bytes& bytes);  // an Error is a good answer; any other exception is not
  // Changes them by their structure; false if they have none. Null: plain bytes are changed.
  bool (*mutate)(Bytes& bytes, Random& random, const MutateBytes& mutate_bytes) = nullptr;
};
using FuzzTargets = Registry<FuzzTarget>;

inline std::size_t below(Random& random, std::size_t end) { return end == 0 ? 0 : random() % end; }

}  // namespace quench
