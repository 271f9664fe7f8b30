#include "import/torchscript/program.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>

#include <functional>

#include "import/torchscript/interpreter.h"
#include "import/torchscript/memory.h"
#include "import/torchscript/ops.h"
#include "import/torchscript/tensors.h"

namespace quench {
namespace {

namespace jit = torch::jit;

// Tuples, lists and dicts of tensors, one after another; None is a result that is absent.
void flatten(const c10::IValue& value, ScriptResults& results) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) results.tensors.push_back(value.toTensor());
  } else if (value.isTuple()) {
    for (const c10::IValue& element : value.toTupleRef().elements()) flatten(element, results);
  } else if (value.isList()) {
    for (const c10::IValue& element : value.toListRef()) flatten(element, results);
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) {
      QUENCH_CHECK(entry.key().isString() && entry.value().isTensor(),
                   "the program returns a dict with entries other than tensors by name");
      results.names.push_back(entry.key().toStringRef());
      flatten(entry.value(), results);
    }
  } else {
    QUENCH_CHECK(value.isNone(), "the program returns a ", value.tagKind(), "; expected tensors");
  }
}

// Numbers are not results, whether or not they depend on data.
void check_result_type(const c10::Type& type) {
  const auto kind = type.kind();
  QUENCH_CHECK(kind != c10::TypeKind::IntType && kind != c10::TypeKind::FloatType && kind != c10::TypeKind::BoolType &&
                   kind != c10::TypeKind::NumberType,
               "the program returns a number (", type.str(), "); expected tensors");
  for (const c10::TypePtr& part : type.containedTypes()) check_result_type(*part);
}

}  // namespace

struct ScriptProgram::Loaded {
  jit::Module module;
  std::shared_ptr<jit::Graph> graph;  // forward, inlined
  bool fused_attention = false, loops = false;
  ScriptNodes kept;
  std::vector<SeenNumbers> runs;  // of each trace

  void load(const std::string& path) {
    module = jit::import_ir_module(std::make_shared<jit::CompilationUnit>(), path, at::kCPU);
    QUENCH_CHECK(module.find_method("forward"), "the program has no method 'forward'");
    module.eval();
    graph = jit::toGraphFunction(module.get_method("forward").function()).graph()->copy();
    check_inlined_size(*graph);
    jit::Inline(*graph);
    check_torchscript_tensors(module, *graph);
    check_torchscript_ops(*graph);
    for (const jit::Value* output : graph->outputs()) check_result_type(*output->type());
    fused_attention = has_fused_attention(*graph);
    loops = has_loops(*graph);
  }

  // Of what was not the same in all traces.
  bool keep(const std::function<bool(const jit::Node&)>& wanted) {
    const std::size_t before = kept.size();
    for (const SeenNumbers& run : runs)
      for (const auto& [node, numbers] : runs[0])
        if (const auto at = run.find(node); at != run.end() && at->second != numbers && wanted(*node))
          kept.insert(node);
    return kept.size() > before;
  }

  const std::vector<c10::Argument>& arguments() const {
    return module.get_method("forward").function().getSchema().arguments();
  }

  c10::IValue interpret(const std::vector<at::Tensor>& inputs, SeenNumbers& seen) const {
    std::vector<c10::IValue> stack = {module._ivalue()};
    stack.insert(stack.end(), inputs.begin(), inputs.end());
    for (std::size_t i = stack.size(); i < arguments().size(); ++i) {
      QUENCH_CHECK(arguments()[i].default_value(), "the argument '", arguments()[i].name(), "' is not given");
      stack.push_back(*arguments()[i].default_value());
    }
    return run_script(*graph, stack, kept, seen).at(0);
  }

  c10::IValue run(const std::vector<at::Tensor>& inputs) {
    if (jit::tracer::isTracing()) return interpret(inputs, runs.emplace_back());
    SeenNumbers unused;
    std::vector<at::Tensor> copies;  // the program may write into its inputs
    for (const at::Tensor& input : inputs) copies.push_back(input.clone());
    if (loops) interpret(copies, unused);
    return module.forward({inputs.begin(), inputs.end()});
  }
};

ScriptProgram::ScriptProgram(const std::string& path) : loaded_(std::make_unique<Loaded>()) {
  in_libtorch("LibTorch cannot load the program", [&] { loaded_->load(path); });
}
ScriptProgram::~ScriptProgram() = default;

const jit::Module& ScriptProgram::module() const { return loaded_->module; }

ScriptResults ScriptProgram::run(const std::vector<at::Tensor>& inputs) {
  const LimitedMemory limited;
  const jit::GraphOptimizerEnabledGuard as_written(false);
  // Where gradients are wanted attention runs operator by operator, which is what a graph needs.
  const c10::AutoGradMode gradients(loaded_->fused_attention);
  return in_libtorch("the program fails", [&] {
    ScriptResults results;
    flatten(loaded_->run(inputs), results);
    return results;
  });
}

std::vector<std::string> ScriptProgram::input_names(std::size_t count) const {
  const std::vector<c10::Argument>& arguments = loaded_->arguments();
  std::vector<std::string> names;
  for (std::size_t i = 1; i < arguments.size(); ++i) {  // 0 is the module itself
    if (names.size() == count && arguments[i].default_value()) break;
    const c10::TypePtr type = arguments[i].type();
    QUENCH_CHECK(c10::TensorType::get()->isSubtypeOf(*type), "the argument '", arguments[i].name(),
                 "' of the program is a ", type->str(), "; only tensors are supported");
    names.push_back(arguments[i].name());
  }
  return names;
}

void ScriptProgram::forget_runs() { loaded_->runs.clear(); }

bool ScriptProgram::keep_varying_loops() {
  return loaded_->keep([](const jit::Node& node) { return node.kind() == c10::prim::Loop; });
}

bool ScriptProgram::keep_varying_comparisons() { return loaded_->keep(is_comparison); }

bool ScriptProgram::keep_what_may_flip(std::int64_t size) {
  if (loaded_->runs.size() < 3) return false;  // an error came first
  return loaded_->keep([&](const jit::Node& node) {
    std::vector<SeenNumber> least, most;
    for (const SeenNumbers& run : loaded_->runs) {
      if (!run.contains(&node)) continue;
      least.push_back(*run.at(&node).begin());
      most.push_back(*run.at(&node).rbegin());
    }
    return least.size() < 3 || may_flip(node, least, size) || may_flip(node, most, size);
  });
}

}  // namespace quench
