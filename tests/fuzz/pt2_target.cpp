// Archives of torch.export: read, turned into a graph, printed.
#include "fuzz/json_mutator.h"
#include "fuzz/memory_file.h"
#include "fuzz/zip_mutator.h"
#include "quench/graph.h"
#include "quench/import.h"

namespace quench {
namespace {

void read_pt2(const Bytes& bytes) { to_text(import_pt2(MemoryFile(bytes).path())); }

bool mutate_pt2(Bytes& bytes, Random& random, const MutateBytes& mutate_bytes) {
  return mutate_zip(bytes, random, [&](const std::string& name, Bytes& member) {
    const bool by_tree = name.ends_with(".json") && random() % 4 != 0;
    if (!by_tree || !mutate_json(member, random)) mutate_bytes(member);
  });
}

QUENCH_REGISTER_ITEM(FuzzTarget, "pt2", "import_pt2", {read_pt2, mutate_pt2})

}  // namespace
}  // namespace quench
