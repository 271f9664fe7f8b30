// SeededGenerator: LibTorch's global CPU generator, seeded for as long as this object lives and put back
// as it was afterwards. For what draws from it without asking: the first weights of modules, dropout.
#pragma once

#include <ATen/ATen.h>

#include <mutex>

namespace quench {

class SeededGenerator {
 public:
  explicit SeededGenerator(std::uint64_t seed);
  ~SeededGenerator();
  SeededGenerator(const SeededGenerator&) = delete;
  SeededGenerator& operator=(const SeededGenerator&) = delete;

 private:
  at::Generator generator_;
  std::lock_guard<std::mutex> lock_;  // one at a time: the generator is one
  at::Tensor before_;
};

}  // namespace quench
