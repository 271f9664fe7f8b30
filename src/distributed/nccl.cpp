// NCCL, where LibTorch's CUDA is linked, NCCL's own header is there and every process has a GPU for itself; else
// tensors on GPUs go through the CPU.
#include <ATen/ATen.h>

#if defined(QUENCH_WITH_CUDA) && __has_include(<nccl.h>)
#define USE_C10D_NCCL
#include <unistd.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include <set>
#endif

#include "distributed/backends.h"

namespace quench {

#ifdef USE_C10D_NCCL

namespace {

// The same for all processes that compute on one GPU, whatever number each knows it by.
std::string gpu_text(int index) {
  char machine[256] = {}, bus[32] = {};
  ::gethostname(machine, sizeof machine - 1);
  if (cudaDeviceGetPCIBusId(bus, sizeof bus, index) != cudaSuccess) return "";
  return std::string(machine) + " " + bus;
}

// NCCL refuses two processes on one GPU. All ask.
bool has_gpu_for_each(c10d::Store& store, const ProcessPlace& place, int index) {
  const auto key = [](int rank) { return "gpu of " + std::to_string(rank); };
  const std::string own = gpu_text(index);
  store.set(key(place.rank), std::vector<std::uint8_t>(own.begin(), own.end()));
  std::set<std::string> all;
  for (int rank = 0; rank < place.size; ++rank) {
    const std::vector<std::uint8_t> bytes = store.get(key(rank));
    all.emplace(bytes.begin(), bytes.end());
  }
  return all.size() == static_cast<std::size_t>(place.size) && !all.contains("");
}

}  // namespace

std::shared_ptr<c10d::Backend> nccl_backend(c10d::Store& store, const ProcessPlace& place, int device) {
  if (!has_gpu_for_each(store, place, device)) return nullptr;
  const auto shared = c10::intrusive_ptr<c10d::Store>::reclaim_copy(&store);
  const auto backend = c10::make_intrusive<c10d::ProcessGroupNCCL>(
      c10::make_intrusive<c10d::PrefixStore>("nccl", shared), place.rank, place.size);
  return {backend.get(), [backend](c10d::Backend*) {}};
}
#else
std::shared_ptr<c10d::Backend> nccl_backend(c10d::Store&, const ProcessPlace&, int) { return nullptr; }
#endif

}  // namespace quench
