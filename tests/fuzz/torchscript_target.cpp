// TorchScript: the container, its pickles and its programs, which are loaded and run.
#include "fuzz/memory_file.h"
#include "fuzz/zip_mutator.h"
#include "quench/graph.h"
#include "quench/import.h"

namespace quench {
namespace {

void read_torchscript(const Bytes& bytes) {
  ImportOptions options;
  options.inputs = {TypeInfo::tensor(DType::kFloat, {Dim(1), Dim(1), Dim(4), Dim(4)})};  // what the seeds take
  to_text(import_torchscript(MemoryFile(bytes).path(), options));
}

bool mutate_torchscript(Bytes& bytes, Random& random, const MutateBytes& mutate_bytes) {
  return mutate_zip(bytes, random, [&](const std::string&, Bytes& member) { mutate_bytes(member); });
}

QUENCH_REGISTER_ITEM(FuzzTarget, "torchscript", "import_torchscript", {read_torchscript, mutate_torchscript})

}  // namespace
}  // namespace quench
