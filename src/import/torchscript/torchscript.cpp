// import_torchscript: a file of torch.jit.save (scripted or traced) -> Graph. The program is loaded, looked through,
// and then traced again as a module would be (quench/torch.h): on inputs of several batch sizes, with the table of
// aten.h behind it and the result compared with the program's own. An interpreter of ours runs it for that
// (torchscript/interpreter.h): loops and branches that depend on settings are thereby resolved; those that depend on
// data, and loops that depend on the batch size, become Loop and If.
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import_read.h>

#include <filesystem>
#include <optional>

#include "graph/tensor_types.h"
#include "import/torchscript/archive.h"
#include "import/torchscript/program.h"
#include "quench/error.h"
#include "quench/import.h"
#include "quench/torch.h"

namespace quench {
namespace {

namespace jit = torch::jit;

// Parameters and buffers of a loaded program under their names, the same tensors, as import_module wants them.
class ScriptState : public torch::nn::Module {
 public:
  explicit ScriptState(const jit::Module& script) {
    for (const auto& item : script.named_parameters(/*recurse=*/false))
      register_parameter(item.name, item.value, item.value.requires_grad());
    for (const auto& item : script.named_buffers(/*recurse=*/false)) register_buffer(item.name, item.value);
    for (const auto& item : script.named_children())
      register_module(item.name, std::make_shared<ScriptState>(item.value));
  }
};

// Types of the inputs that a file was traced with, which PyTorch 2 keeps in it (without their elements); none if it
// keeps none.
std::vector<TypeInfo> types_in_file(const std::string& path) {
  caffe2::serialize::PyTorchStreamReader reader(path);
  if (!reader.hasRecord("traced_inputs.pkl")) return {};
  const c10::IValue kept =
      jit::readArchiveAndTensors("traced_inputs", "", "traced_inputs/", std::nullopt, std::nullopt, at::kCPU, reader);
  QUENCH_CHECK(kept.isGenericDict(), "the traced inputs inside the file cannot be read");
  std::vector<TypeInfo> types;
  for (const auto& entry : kept.toGenericDict()) {
    if (!entry.key().isString() || entry.key().toStringRef() != "forward" || !entry.value().isList()) continue;
    for (const c10::IValue& input : entry.value().toListRef())
      if (input.isTensor()) types.push_back(TypeInfo::tensor(dtype_of(input.toTensor()), dims_of(input.toTensor())));
  }
  return types;
}

constexpr std::int64_t kLargestInput = std::int64_t{1} << 28;  // elements: 1 GB of floats

// Random numbers of a fixed seed, from -1 to 1: large ones make untrained networks explode, and their roundings with
// them. Whole numbers are 0 and 1, which any table can be indexed with.
at::Tensor example_of(const TypeInfo& type) {
  std::vector<std::int64_t> sizes;
  std::int64_t elements = 1;
  for (const Dim& dim : type.dims.value_or(Dims{})) {
    QUENCH_CHECK(dim.is_number() && dim.number() > 0 && dim.number() <= kLargestInput / elements,
                 "an input of the shape ", text_of(*type.dims), ": expected numbers above 0 with a product of at most ",
                 kLargestInput);
    sizes.push_back(dim.number());
    elements *= dim.number();
  }
  at::Generator generator = at::detail::createCPUGenerator(7);
  const at::ScalarType scalar = scalar_type_of(type.dtype);
  const auto options = at::TensorOptions().dtype(at::kFloat);
  if (!at::isFloatingType(scalar)) return at::randint(0, 2, sizes, generator, options).to(scalar);
  return (at::rand(sizes, generator, options) * 2 - 1).to(scalar);
}

std::vector<at::Tensor> examples_for(const std::string& path, const std::vector<TypeInfo>& given) {
  const std::vector<TypeInfo> types =
      given.empty() ? in_libtorch("LibTorch cannot read the traced inputs", [&] { return types_in_file(path); })
                    : given;
  QUENCH_CHECK(!types.empty(),
               "the file does not give the shapes of its inputs; give one for each input, such as 1,3,224,224 "
               "(ImportOptions::inputs)");
  std::vector<at::Tensor> examples;
  for (const TypeInfo& type : types) examples.push_back(example_of(type));
  return examples;
}

Graph trace_program(const std::string& path, const ImportOptions& options) {
  in_libtorch("this zip archive is not from torch.jit.save", [&] { check_torchscript_archive(path); });
  ScriptProgram program(path);
  const std::vector<at::Tensor> examples = examples_for(path, options.inputs);
  ModuleImportOptions import;
  import.name = std::filesystem::path(path).stem().string();
  import.input_names = program.input_names(examples.size());
  QUENCH_CHECK(import.input_names.size() == examples.size(), "the program takes ", import.input_names.size(),
               " inputs; shapes were given for ", examples.size());
  ScriptState state(program.module());
  const ModuleForward forward = [&](const std::vector<at::Tensor>& inputs) {
    ScriptResults results = program.run(inputs);
    if (results.names.size() == results.tensors.size()) import.output_names = results.names;
    return results.tensors;
  };
  const std::int64_t batch = examples[0].dim() > 0 ? examples[0].size(0) : 1;
  std::optional<Graph> settled;
  for (;;) {  // what differs between batch sizes stays in the trace when all is traced once more
    program.forget_runs();
    try {
      Graph graph = import_module(state, forward, examples, import);
      if (program.keep_what_may_flip(batch)) continue;
      if (!program.keep_varying_loops()) return graph;
      settled = std::move(graph);  // such a loop computes numbers or lists alone, and need not become one of the graph
    } catch (const Error&) {
      if (settled) return std::move(*settled);
      if (!program.keep_varying_loops() && !program.keep_varying_comparisons() && !program.keep_what_may_flip(batch))
        throw;
    }
  }
}

}  // namespace

Graph import_torchscript(const std::string& path, const ImportOptions& options) {
  return with_context([&] { return "while importing " + path; },
                      [&] {
                        Graph graph = trace_program(path, options);
                        graph.source.format = "torchscript";
                        graph.source.path = path;
                        return graph;
                      });
}

}  // namespace quench
