#include "import/torchscript/memory.h"

#include <c10/core/CPUAllocator.h>

#include <limits>

#include "quench/error.h"

namespace quench {
namespace {

constexpr std::size_t kLargest = std::size_t{1} << 32, kTotal = std::size_t{1} << 36;  // bytes
constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

thread_local std::size_t left = kUnlimited;

// LibTorch's own, with a check of the size first. Memory is freed by the allocator that gave it.
class Limiter : public c10::Allocator {
 public:
  explicit Limiter(c10::Allocator& own) : own_(own) {}

  c10::DataPtr allocate(std::size_t bytes) override {
    if (left != kUnlimited) {
      QUENCH_CHECK(bytes <= kLargest, "the program makes a tensor of ", bytes, " bytes; at most ", kLargest,
                   " are allowed");
      QUENCH_CHECK(bytes <= left, "the program makes tensors of more than ", kTotal, " bytes in all");
      left -= bytes;
    }
    return own_.allocate(bytes);
  }
  c10::DeleterFnPtr raw_deleter() const override { return own_.raw_deleter(); }
  void copy_data(void* to, const void* from, std::size_t count) const override { own_.copy_data(to, from, count); }

 private:
  c10::Allocator& own_;
};

}  // namespace

LimitedMemory::LimitedMemory() : left_before_(left) {
  // It stays: other threads may be using it. To those it makes no difference.
  static Limiter& limiter = *new Limiter(*c10::GetCPUAllocator());
  [[maybe_unused]] static const bool set = (c10::SetCPUAllocator(&limiter), true);
  left = kTotal;
}
LimitedMemory::~LimitedMemory() { left = left_before_; }

}  // namespace quench
