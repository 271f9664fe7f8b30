#include "zoo/seeded_generator.h"

#include <ATen/CPUGeneratorImpl.h>

namespace quench {
namespace {

std::mutex& generator_mutex() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

SeededGenerator::SeededGenerator(std::uint64_t seed)
    : generator_(at::detail::getDefaultCPUGenerator()), lock_(generator_mutex()), before_(generator_.get_state()) {
  generator_.set_current_seed(seed);
}

SeededGenerator::~SeededGenerator() { generator_.set_state(before_); }

}  // namespace quench
