// What libFuzzer calls, for the one target that is linked with it.
#include <ATen/Parallel.h>

#include <algorithm>
#include <cstddef>

#include "fuzz/target.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

const quench::FuzzTarget& target() {
  static const quench::FuzzTarget& only = quench::FuzzTargets::instance().entries().begin()->second.item;
  return only;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  at::set_num_threads(1);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    target().read({data, data + size});
  } catch (const quench::Error&) {
    // Refused, as it should be. Anything else thrown ends the fuzzer.
  }
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  quench::Random random(seed);
  const auto mutate_bytes = [](quench::Bytes& bytes) {
    const std::size_t before = bytes.size();
    bytes.resize(before + 64);
    bytes.resize(LLVMFuzzerMutate(bytes.data(), before, bytes.size()));
  };
  quench::Bytes bytes(data, data + size);
  const bool by_structure = target().mutate != nullptr && random() % 8 != 0;
  if (!by_structure || !target().mutate(bytes, random, mutate_bytes) || bytes.size() > most)
    return LLVMFuzzerMutate(data, size, most);
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}
