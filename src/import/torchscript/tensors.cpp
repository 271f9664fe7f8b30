#include "import/torchscript/tensors.h"

#include <ATen/ATen.h>
#include <malloc.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include "graph/tensor_extent.h"
#include "quench/error.h"

namespace quench {
namespace {

namespace jit = torch::jit;

void check_tensor(const at::Tensor& tensor) {
  if (!tensor.defined()) return;
  QUENCH_CHECK(tensor.layout() == at::kStrided && !tensor.is_quantized() && tensor.device().is_cpu(),
               "a tensor of the file is ", tensor.is_quantized() ? "quantized" : c10::toString(tensor.layout()), " on ",
               tensor.device().str(), "; plain ones on the CPU are read");
  const c10::Storage& storage = tensor.storage();
  // The bytes of a storage are what the pickle claims; what was allocated is what the archive had.
  const std::size_t allocated = storage.data() == nullptr ? 0 : malloc_usable_size(storage.mutable_data());
  QUENCH_CHECK(storage.nbytes() <= allocated, "a storage of the file claims ", storage.nbytes(),
               " bytes, and has fewer");
  QUENCH_CHECK(fits_storage(tensor.sizes(), tensor.strides(), tensor.storage_offset(),
                            static_cast<std::int64_t>(storage.nbytes() / tensor.itemsize())),
               "a tensor of the file, of the shape ", tensor.sizes(), " with strides ", tensor.strides(), " at offset ",
               tensor.storage_offset(), ", does not fit its storage of ", storage.nbytes(), " bytes");
}

void check_values(const c10::IValue& value) {
  c10::IValue::HashAliasedIValues inner;
  value.getSubValues(inner);
  for (const c10::IValue& one : inner)
    if (one.isTensor()) check_tensor(one.toTensor());
}

void check_constants(const jit::Block& block) {
  for (const jit::Node* node : block.nodes()) {
    if (node->kind() == c10::prim::Constant)
      if (const auto value = jit::toIValue(node->output())) check_values(*value);
    for (const jit::Block* body : node->blocks()) check_constants(*body);
  }
}

}  // namespace

void check_torchscript_tensors(const jit::Module& module, const jit::Graph& graph) {
  check_values(module._ivalue());
  check_constants(*graph.block());
}

}  // namespace quench
