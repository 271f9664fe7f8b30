// SeededGenerator: LibTorch's global CPU generator, seeded for as long as this object lives and restored
// afterwards. For what draws from it without asking: the first weights of modules, dropout.
#pragma once

#include <cstdint>
#include <memory>

namespace quench {

class SeededGenerator {
 public:
  explicit SeededGenerator(std::uint64_t seed);
  ~SeededGenerator();
  SeededGenerator(const SeededGenerator&) = delete;
  SeededGenerator& operator=(const SeededGenerator&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quench
