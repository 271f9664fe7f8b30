// Weights: zips of torch.save and safetensors.
#include <ATen/ATen.h>

#include "fuzz/memory_file.h"
#include "fuzz/zip_mutator.h"
#include "quench/state_dict.h"

namespace quench {
namespace {

void read_weights(const Bytes& bytes) { read_state_dict(MemoryFile(bytes).path()); }

bool mutate_weights(Bytes& bytes, Random& random, const MutateBytes& mutate_bytes) {
  return mutate_zip(bytes, random, [&](const std::string&, Bytes& member) { mutate_bytes(member); });
}

QUENCH_REGISTER_ITEM(FuzzTarget, "state_dict", "read_state_dict", {read_weights, mutate_weights})

}  // namespace
}  // namespace quench
