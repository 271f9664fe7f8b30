// IDX images, gzip'd or not; the first is decoded.
#include <ATen/ATen.h>

#include "fuzz/memory_file.h"
#include "quench/data.h"

namespace quench {
namespace {

void read_idx(const Bytes& bytes) {
  const MemoryFile file(bytes);
  const auto images = open_dataset("idx:" + file.path() + "?norm=mnist");
  if (images->size() > 0) images->get(0);
}

QUENCH_REGISTER_ITEM(FuzzTarget, "idx", "the data kind idx", {read_idx})

}  // namespace
}  // namespace quench
