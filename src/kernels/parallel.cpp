#include "kernels/parallel.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <exception>

// LibTorch's threads are libgomp's. at::parallel_for is a template around `#pragma omp parallel`, which each compiler
// turns into calls of its own OpenMP library; these are the calls that GCC makes, so that any compiler gets those
// threads.
extern "C" {
void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags);
int omp_get_thread_num(void);
int omp_get_num_threads(void);
}

namespace quench {
namespace {

struct Work {
  std::int64_t count, grain;
  const std::function<void(std::int64_t, std::int64_t)>& body;
  std::atomic_flag failed = ATOMIC_FLAG_INIT;
  std::exception_ptr error = nullptr;  // the first
};

void run_part(void* data) {
  Work& work = *static_cast<Work*>(data);
  const auto parts = [&](std::int64_t size) { return (work.count + size - 1) / size; };
  const std::int64_t threads = std::min<std::int64_t>(omp_get_num_threads(), parts(work.grain));
  const std::int64_t size = parts(threads), first = omp_get_thread_num() * size;
  if (first >= work.count) return;
  try {
    work.body(first, std::min(work.count, first + size));
  } catch (...) {
    if (!work.failed.test_and_set()) work.error = std::current_exception();
  }
}

}  // namespace

void in_parallel(std::int64_t count, std::int64_t grain, const std::function<void(std::int64_t, std::int64_t)>& body) {
  if (count <= 0) return;
#ifdef QUENCH_ONE_THREAD
  return body(0, count);
#endif
  Work work{count, std::max<std::int64_t>(grain, 1), body};
  if (count <= work.grain || at::in_parallel_region() || at::get_num_threads() == 1) return body(0, count);
  GOMP_parallel(run_part, &work, 0, 0);
  if (work.error) std::rethrow_exception(work.error);
}

}  // namespace quench
