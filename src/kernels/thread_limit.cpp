#include "kernels/thread_limit.h"

#include <ATen/Parallel.h>

// Of libgomp, whose threads LibTorch's and oneDNN's are.
extern "C" void omp_set_num_threads(int count);

namespace quench {

// By LibTorch's function: where a thread calls it for the first time, it sets the number, and would undo ours later.
ThreadLimit::ThreadLimit(int threads) : before_(at::get_num_threads()) { omp_set_num_threads(threads); }
ThreadLimit::~ThreadLimit() { omp_set_num_threads(before_); }

}  // namespace quench
