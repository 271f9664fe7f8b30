#include "import/torchscript/interpreter.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "import/torchscript/blocks.h"
#include "import/torchscript/constructs.h"
#include "import/torchscript/numbers.h"
#include "import/torchscript/sizes.h"
#include "import/torchscript/writes.h"
#include "import/trace/trace.h"
#include "quench/error.h"

namespace quench {
namespace {

namespace jit = torch::jit;
using Stack = std::vector<c10::IValue>;

// Programs of real networks take a few thousand.
constexpr std::int64_t kMaxSteps = 1'000'000;
constexpr std::int64_t kTensorSteps = 20;  // that an operator on tensors counts for

constexpr std::int64_t kLargestTensor = std::int64_t{1} << 30;  // elements

using LastUses = std::unordered_map<const jit::Node*, std::vector<const jit::Value*>>;

void add_reads(const jit::Node& node, std::vector<const jit::Value*>& reads) {
  reads.insert(reads.end(), node.inputs().begin(), node.inputs().end());
  for (const jit::Block* block : node.blocks()) {
    for (const jit::Node* inner : block->nodes()) add_reads(*inner, reads);
    reads.insert(reads.end(), block->outputs().begin(), block->outputs().end());
  }
}

// The node after which each value of the block (and of nested ones) is no longer read: tensors must not outlive it.
void find_last_uses(const jit::Block& block, LastUses& last) {
  std::unordered_set<const jit::Value*> seen(block.outputs().begin(), block.outputs().end());
  for (const jit::Node* node : block.nodes().reverse()) {
    std::vector<const jit::Value*> reads(node->outputs().begin(), node->outputs().end());
    add_reads(*node, reads);
    for (const jit::Value* value : reads)
      if (value->node()->owningBlock() == &block && seen.insert(value).second) last[node].push_back(value);
    for (const jit::Block* inner : node->blocks()) find_last_uses(*inner, last);
  }
}

// For a block that is being recorded: what was made in it, which only it may change, and tensors as they were before
// it wrote into them.
struct RecordedBlock {
  c10::IValue::HashAliasedIValues made;
  std::vector<std::pair<at::Tensor, at::Tensor>> before;

  void restore() const {
    const Untraced untraced;
    for (auto one = before.rbegin(); one != before.rend(); ++one) one->first.copy_(one->second);
  }
};

class Interpreter {
 public:
  Interpreter(const jit::Graph& graph, const ScriptNodes& kept, SeenNumbers& seen)
      : graph_(graph), kept_(kept), seen_(seen) {}

  Stack run(const Stack& inputs) {
    find_last_uses(*graph_.block(), last_uses_);
    if (jit::tracer::isTracing()) record_constants(*graph_.block());
    return run_block(*graph_.block(), inputs, BlockRun::kPlain);
  }

 private:
  // A constant is one value of the trace, also where bodies read it: they may write to it.
  static void record_constants(const jit::Block& block) {
    for (const jit::Node* node : block.nodes()) {
      for (const jit::Block* inner : node->blocks()) record_constants(*inner);
      if (node->kind() != c10::prim::Constant) continue;
      const std::optional<c10::IValue> value = jit::toIValue(node->output());
      if (value && value->isTensor() && value->toTensor().defined()) jit::tracer::getValueTrace(*value);
    }
  }

  Stack run_block(const jit::Block& block, const Stack& inputs, BlockRun how) {
    if (how == BlockRun::kRecorded) return run_recorded(block, inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) values_[block.inputs()[i]] = inputs[i];
    for (const jit::Node* node : block.nodes()) {
      run_node(*node);
      if (const auto last = last_uses_.find(node); last != last_uses_.end())
        for (const jit::Value* value : last->second) values_.erase(value);
    }
    return values_of(block.outputs());
  }

  Stack run_recorded(const jit::Block& block, const Stack& inputs) {
    recorded_.emplace_back();
    const auto leave = [&] {
      recorded_.back().restore();
      for (const auto& [tensor, copy] : recorded_.back().before) written_.add(tensor);
      recorded_.pop_back();
    };
    try {
      Stack results = run_block(block, inputs, BlockRun::kPlain);
      leave();
      return results;
    } catch (...) {
      leave();
      throw;
    }
  }

  Stack values_of(at::ArrayRef<const jit::Value*> values) const {
    Stack stack;
    for (const jit::Value* value : values) stack.push_back(values_.at(value));
    return stack;
  }

  void run_node(const jit::Node& node) {
    count_step(node);
    if (node.kind() == c10::prim::Constant) {
      values_[node.output()] = jit::toIValue(node.output()).value_or(c10::IValue());
      return;
    }
    Stack stack = values_of(node.inputs());
    if (node.kind() == c10::prim::If)
      stack = run_if(node, stack[0]);
    else if (node.kind() == c10::prim::Loop)
      stack = run_loop(node, stack);
    else
      run_operator(node, stack);
    QUENCH_CHECK(stack.size() == node.outputs().size(), "'", node.kind().toQualString(), "' gives ", stack.size(),
                 " results; the program expects ", node.outputs().size());
    for (std::size_t i = 0; i < stack.size(); ++i) values_[node.outputs()[i]] = std::move(stack[i]);
  }

  void count_step(const jit::Node& node) {
    const bool tensor = !node.outputs().empty() && node.outputs()[0]->type()->kind() == c10::TypeKind::TensorType;
    steps_ += tensor ? kTensorSteps : 1;
    QUENCH_CHECK(steps_ <= kMaxSteps, "the program has not finished after ", kMaxSteps, " steps (an operator on ",
                 "tensors counts as ", kTensorSteps, "): it never ends, or its loops run too often",
                 place_in_source(node));
  }

  // No program reads a variable that was not set: this side of a branch, which is recorded whatever the data are, is
  // never taken.
  static void check_set(const jit::Node& node, const Stack& inputs) {
    for (const c10::IValue& input : inputs)
      if (input.tagKind() == "Uninitialized")
        throw Raised("the program reads a variable that was not set" + place_in_source(node));
  }

  Stack run_if(const jit::Node& node, const c10::IValue& condition) {
    check_set(node, {condition});
    if (condition.isTensor()) return record_if(node, condition.toTensor(), runner());
    return run_block(*node.blocks()[condition.toBool() ? 0 : 1], {}, BlockRun::kPlain);
  }

  // Turns are run one by one as long as it is known that there is a next one; from there on the loop is recorded.
  Stack run_loop(const jit::Node& node, Stack stack) {
    const bool tracing = jit::tracer::isTracing();
    check_set(node, {stack[0], stack[1]});
    if (stack[0].isTensor() || (tracing && kept_.contains(&node))) return record_loop(node, stack, 0, runner());
    const std::int64_t limit = stack[0].toInt();
    std::int64_t turn = 0;
    while (turn < limit && !stack[1].isTensor() && stack[1].toBool()) {
      Stack inputs = {turn++};
      inputs.insert(inputs.end(), stack.begin() + 2, stack.end());
      const Stack results = run_block(*node.blocks()[0], inputs, BlockRun::kPlain);
      std::copy(results.begin(), results.end(), stack.begin() + 1);
      count_step(node);  // a body may be empty
    }
    if (stack[1].isTensor() && turn < limit) {
      stack[0] = limit - turn;
      return record_loop(node, stack, turn, runner());
    }
    if (tracing) seen_[&node].insert({turn, std::min(limit, std::int64_t{0})});
    return {stack.begin() + 2, stack.end()};
  }

  RunBlock runner() {
    return [this](const jit::Block& block, const Stack& inputs, BlockRun how) { return run_block(block, inputs, how); };
  }

  void run_operator(const jit::Node& node, Stack& stack) {
    if (node.maybeOperator()) check_set(node, stack);  // not for those that make up tuples and such
    const std::vector<at::Tensor> written = prepare_writes(node, stack);
    if (run_construct(node, stack)) {
      note_made(node, stack);
      return;
    }
    if (jit::tracer::isTracing()) {
      check_read(node, stack);
      look_at_sizes(node, stack);
      if (run_data_numbers(node, stack)) return;
    }
    const bool hidden =
        std::any_of(stack.begin(), stack.end(), [&](const c10::IValue& one) { return written_.hides_data(one); });
    const std::vector<HandedOver> handed_over = hand_over_numbers(node, stack);
    if (const c10::FunctionSchema* schema = node.maybeSchema(); schema && schema->is_vararg())
      stack.emplace_back(static_cast<std::int64_t>(node.inputs().size()));
    node.getOperation()(stack);
    if (hidden) written_.add_all(stack);
    for (const at::Tensor& tensor : written)
      if (hidden || hangs_on_inputs(tensor)) written_.add(tensor);
    check_taken(node, handed_over);
    check_sizes(node, stack);
  }

  // A loop that doubles a tensor takes few steps.
  static void check_sizes(const jit::Node& node, const Stack& results) {
    for (const c10::IValue& result : results)
      QUENCH_CHECK(!result.isTensor() || !result.toTensor().defined() || result.toTensor().numel() <= kLargestTensor,
                   "'", node.kind().toQualString(), "' makes a tensor of ", result.toTensor().numel(),
                   " elements; at most ", kLargestTensor, " are allowed", place_in_source(node));
  }

  // What sizes decide: noted, to be compared with the other traces; recorded if it was found to depend on them.
  void look_at_sizes(const jit::Node& node, Stack& stack) {
    const std::optional<SeenNumber> seen = seen_by(node, stack);
    if (!seen) return;
    if (kept_.contains(&node))
      stack[0] = number_tensor(stack[0]);
    else
      seen_[&node].insert(*seen);
  }

  // Lists, dicts and objects of a recorded block are its own.
  void note_made(const jit::Node& node, const Stack& results) {
    static const std::set<c10::Symbol> kMakes = {c10::prim::ListConstruct, c10::prim::DictConstruct,
                                                 c10::prim::CreateObject};
    if (!recorded_.empty() && kMakes.contains(node.kind())) recorded_.back().made.insert(results[0]);
  }

  // The tensors that the node writes into, if any. What a recorded block writes into and is not its own: a tensor gets
  // its elements back at the end (the trace knows the new ones), a list or an object cannot.
  std::vector<at::Tensor> prepare_writes(const jit::Node& node, const Stack& stack) {
    std::vector<at::Tensor> written;
    const bool sets = node.kind() == c10::prim::SetAttr;
    const c10::FunctionSchema* schema = node.maybeSchema();
    for (std::size_t i = 0; i < stack.size(); ++i) {
      const bool described = schema && i < schema->arguments().size();
      const c10::AliasInfo* alias = described ? schema->arguments()[i].alias_info() : nullptr;
      if (!(sets && i == 0) && !(alias && alias->isWrite())) continue;
      if (stack[i].isTensor() && stack[i].toTensor().defined()) written.push_back(stack[i].toTensor());
      if (recorded_.empty()) continue;
      if (stack[i].isTensor()) {
        const Untraced untraced;
        recorded_.back().before.emplace_back(stack[i].toTensor(), stack[i].toTensor().detach().clone());
        continue;
      }
      QUENCH_CHECK(recorded_.back().made.contains(stack[i]), "'", node.kind().toQualString(), "' changes a ",
                   stack[i].tagKind(), " that was made outside of a branch or loop that the graph keeps",
                   place_in_source(node));
    }
    return written;
  }

  // Numbers read from tensors that do not depend on data are known, unless something that does was written into them.
  void check_read(const jit::Node& node, const Stack& stack) const {
    if (!reads_number(node) && node.kind() != c10::aten::equal) return;
    for (const c10::IValue& read : stack)
      QUENCH_CHECK(!written_.hides_data(read),
                   "a number is read from a tensor that was changed, depending on data, through a view or in a "
                   "branch or loop; make the change out of place",
                   place_in_source(node));
  }

  const jit::Graph& graph_;
  const ScriptNodes& kept_;
  SeenNumbers& seen_;
  LastUses last_uses_;
  std::unordered_map<const jit::Value*, c10::IValue> values_;
  std::vector<RecordedBlock> recorded_;
  WrittenMemory written_;
  std::int64_t steps_ = 0;
};

}  // namespace

std::vector<c10::IValue> run_script(const jit::Graph& graph, const std::vector<c10::IValue>& inputs,
                                    const ScriptNodes& kept, SeenNumbers& seen) {
  return Interpreter(graph, kept, seen).run(inputs);
}

}  // namespace quench
