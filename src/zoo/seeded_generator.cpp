#include "zoo/seeded_generator.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <mutex>

namespace quench {
namespace {

std::mutex& generator_mutex() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

struct SeededGenerator::State {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  std::lock_guard<std::mutex> lock{generator_mutex()};  // one at a time: the generator is one
  at::Tensor before = generator.get_state();
};

SeededGenerator::SeededGenerator(std::uint64_t seed) : state_(std::make_unique<State>()) {
  state_->generator.set_current_seed(seed);
}

SeededGenerator::~SeededGenerator() { state_->generator.set_state(state_->before); }

}  // namespace quench
