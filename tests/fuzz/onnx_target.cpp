// ONNX: parsed, upgraded, types inferred, printed.
#include "fuzz/target.h"
#include "fuzz/wire_mutator.h"
#include "quench/graph.h"
#include "quench/import.h"

namespace quench {
namespace {

void read_onnx(const Bytes& bytes) {
  ImportOptions options;
  options.allow_unsupported = bytes.size() % 2 == 1;  // as `inspect` reads, or as `run` does
  to_text(import_onnx_bytes({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, "", options));
}

QUENCH_REGISTER_ITEM(FuzzTarget, "onnx", "import_onnx_bytes", {read_onnx, mutate_wire})

}  // namespace
}  // namespace quench
