// LibTorch's intra-op threads for our loops.
#pragma once

#include <cstdint>
#include <functional>

namespace quench {

// body(first, last) on parts of [0, count), each worth a thread: at least `grain` of them.
void in_parallel(std::int64_t count, std::int64_t grain, const std::function<void(std::int64_t, std::int64_t)>& body);

}  // namespace quench
