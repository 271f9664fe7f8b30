// .npy and .npz.
#include "fuzz/memory_file.h"
#include "fuzz/zip_mutator.h"
#include "quench/npz.h"

namespace quench {
namespace {

void read_arrays(const Bytes& bytes) { read_npz(MemoryFile(bytes).path()); }

bool mutate_arrays(Bytes& bytes, Random& random, const MutateBytes& mutate_bytes) {
  return mutate_zip(bytes, random, [&](const std::string&, Bytes& member) { mutate_bytes(member); });
}

QUENCH_REGISTER_ITEM(FuzzTarget, "npz", "read_npz", {read_arrays, mutate_arrays})

}  // namespace
}  // namespace quench
