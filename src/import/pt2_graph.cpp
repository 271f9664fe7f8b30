#include "import/pt2_graph.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "import/aten.h"
#include "import/aten_graph.h"
#include "import/module_names.h"
#include "import/onnx_types.h"
#include "import/pt2_aliases.h"
#include "import/pt2_names.h"
#include "import/pt2_numbers.h"
#include "import/pt2_targets.h"
#include "import/pt2_values.h"
#include "quench/error.h"

namespace quench {
namespace {

using Kind = Pt2Item::Kind;

class GraphMaker {
 public:
  GraphMaker(const Pt2Program& program, Pt2Weights& weights)
      : program_(program), weights_(weights), values_(program), names_(program) {}

  Graph make() {
    for (const Pt2Input& input : program_.inputs) add_input(input);
    for (const Pt2Node& node : program_.nodes) {
      with_context([&] { return concat("in node '", node.name, "' (", node.target, ") of ", module_of(node)); },
                   [&] { read(node); });
    }
    for (const Pt2Item& output : program_.outputs) add_output(output);
    QUENCH_CHECK(!graph_.outputs().empty(), "the program has no output that is a tensor");
    return std::move(graph_);
  }

 private:
  static std::string module_of(const Pt2Node& node) {
    const std::string module = innermost_module(node.modules);
    return module.empty() ? "the outermost module" : concat("module '", module, "'");
  }

  void add_input(const Pt2Input& input) {
    if (input.kind == Pt2Input::Kind::kUser) return add_user_input(input.arg);
    if (input.kind == Pt2Input::Kind::kIgnored) return;
    const bool is_weight =
        input.kind == Pt2Input::Kind::kParameter || (input.kind == Pt2Input::Kind::kBuffer && input.persistent);
    Value*& value = state_[weights_.identity(input.name, is_weight)];  // tied weights are one value
    if (!value) {
      const at::Tensor tensor = is_weight ? weights_.weight(input.name) : weights_.constant(input.name);
      value = &graph_.add_constant(graph_.unique_name(input.name), tensor);
      value->set_parameter(input.kind == Pt2Input::Kind::kParameter);
      owners_.own(*value, layer_of_tensor(input.name));
    }
    values_.bind(input.arg.text, *value);
    aliases_.add_state(input.arg.text, input.name);
  }

  void add_user_input(const Pt2Item& arg) {
    if (arg.kind == Kind::kTensor)
      return values_.bind(arg.text, graph_.add_input(free_name(arg.text), values_.type_of(arg.text)));
    if (arg.kind != Kind::kSymbol) {  // a number or None that the program was specialised to
      QUENCH_CHECK(arg.kind != Kind::kOther, "an input of the kind '", arg.text, "' is not supported");
      return;
    }
    AtenInt number;
    number.source = &graph_.add_input(free_name(arg.text), TypeInfo::tensor(DType::kInt64, Dims{}));
    number.axis = -1;
    number.dim = values_.dim_of(arg.text);
    values_.bind(arg.text, number);
  }

  std::string free_name(const std::string& name) const {
    QUENCH_CHECK(!name.empty(), "an input without a name");
    QUENCH_CHECK(!graph_.find_value(name), "two inputs of the name '", name, "'");
    return name;
  }

  void read(const Pt2Node& node) {
    if (is_assertion(node)) return;
    const std::string kind = kind_of_target(node.target);
    if (kind == "aten::sym_size") return read_size(node);
    if (kind == "aten::sym_numel") return read_numel(node);
    if (kind == "aten::item" || kind == "aten::_local_scalar_dense") return read_item(node);
    if (is_number_target(node.target)) return read_number(node);
    map(node, kind);
  }

  // The one symbolic number that a node gives.
  static const std::string& number_name(const Pt2Node& node) {
    const bool one = node.outputs.size() == 1 && node.outputs[0].items.size() == 1;
    QUENCH_CHECK(one && node.outputs[0].items[0].kind == Kind::kSymbol, "does not give one symbolic number");
    return node.outputs[0].items[0].text;
  }

  AtenCall call_of(const Pt2Node& node, const std::string& kind) {
    return AtenCall(graph_, kind, names_.name_of(node, kind, ""));
  }

  void read_size(const Pt2Node& node) {
    Value& value = values_.tensor_input(node, 0);
    AtenCall call = call_of(node, "sym_size");
    call.args["dim"] = values_.number_input(node, 1);
    QUENCH_CHECK(value.has_rank() && value.rank() > 0, "of a tensor without dims");
    AtenInt size = call.sizes_of(value).at(static_cast<std::size_t>(call.axis("dim", value.rank())));
    if (!size.is_number() && size.dim.is_unknown()) size.dim = values_.dim_of(number_name(node));
    values_.bind(number_name(node), size);
  }

  void read_numel(const Pt2Node& node) {
    AtenCall call = call_of(node, "sym_numel");
    AtenInt count(1);
    for (const AtenInt& size : call.sizes_of(values_.tensor_input(node, 0)))
      count = compute_number(call, "_operator.mul", {count, size}, count.dim * size.dim);
    values_.bind(number_name(node), count);
  }

  void read_item(const Pt2Node& node) {
    AtenInt number;
    number.source = &values_.tensor_input(node, 0);
    number.axis = -1;
    number.dim = values_.dim_of(number_name(node));
    QUENCH_CHECK(is_integer(number.source->dtype()), "gives a number that is no integer, which has no counterpart");
    values_.bind(number_name(node), number);
  }

  void read_number(const Pt2Node& node) {
    AtenCall call = call_of(node, kind_name(node));
    std::vector<AtenInt> operands;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) operands.push_back(values_.number_input(node, i));
    const std::string& name = number_name(node);
    values_.bind(name, compute_number(call, node.target, operands, values_.dim_of(name)));
  }

  static std::string kind_name(const Pt2Node& node) { return node.target.substr(node.target.rfind('.') + 1); }

  void map(const Pt2Node& node, const std::string& full_kind) {
    const std::string kind = plain_kind(full_kind);
    const AtenEntry* entry = AtenRegistry::instance().find(kind);
    const Values inputs = values_.tensors_of(node);
    const std::string owner = entry && entry->is_layer ? owners_.owner_of(inputs) : "";
    const std::string name = names_.name_of(node, kind.empty() ? kind_name(node) : kind, owner);
    AtenCall call(graph_, kind, name);
    aliases_.check(node, full_kind, call.where());
    const std::vector<std::string> results = result_names(node);
    for (const std::string& result : results) call.outputs.push_back(values_.type_of(result));
    QUENCH_CHECK(!results.empty(), "gives no tensor, which has no counterpart");
    const Values values = entry ? mapped(node, call) : opaque(node, name, inputs);
    QUENCH_CHECK(values.size() >= results.size(), "gives ", results.size(), " results where ", values.size(),
                 " are known");
    for (std::size_t i = 0; i < results.size(); ++i) take(results[i], values[i]);
    if (is_in_place_kind(full_kind)) rebind(node);
    const bool turns = kind == "t" || kind == "transpose" || kind == "permute";
    if (turns && !inputs.empty() && values[0]) owners_.pass_owner(*inputs[0], *values[0]);
  }

  // An entry that stumbles over what contradicts itself (a rank, a count) has met a broken file.
  Values mapped(const Pt2Node& node, AtenCall& call) const {
    for (const auto& [name, arg] : node.inputs) call.args[name] = values_.argument(arg);
    try {
      return map_aten_call(call);
    } catch (const InternalError& error) {
      fail("the program contradicts itself: ", error.error().message());
    }
  }

  // To look at, not to run.
  Values opaque(const Pt2Node& node, const std::string& name, const Values& inputs) {
    const std::string op = node.target.starts_with("torch.ops.") ? node.target.substr(10) : node.target;
    const auto results = static_cast<int>(result_names(node).size());
    Node& made = graph_.add(op, graph_.unique_name(name), inputs, results);
    return {made.outputs().begin(), made.outputs().end()};
  }

  void take(const std::string& name, Value* value) {
    if (!value) return;  // has no counterpart: an error only where it is used
    values_.bind(name, *value);
    if (value->producer()) value->set_type(merge_types(value->type(), values_.type_of(name), name));
  }

  // relu_(x): from here on x is the result.
  void rebind(const Pt2Node& node) {
    const std::vector<std::string> results = result_names(node);
    const std::vector<Pt2Item>& written = node.inputs.at(0).second.items;
    const bool plain = written.size() == 1 && written[0].kind == Kind::kTensor && results.size() == 1;
    QUENCH_CHECK(plain, "writes to other than one tensor in place");
    values_.rebind(written[0].text, values_.tensor(results[0]));
  }

  static std::vector<std::string> result_names(const Pt2Node& node) {
    std::vector<std::string> names;
    for (const Pt2Arg& output : node.outputs)
      for (const Pt2Item& item : output.items)
        if (item.kind == Kind::kTensor) names.push_back(item.text);
    return names;
  }

  void add_output(const Pt2Item& output) {
    if (output.kind == Kind::kNone) return;
    QUENCH_CHECK(output.kind == Kind::kTensor, "an output of the program is no tensor");
    add_graph_output(graph_, values_.tensor(output.text));
  }

  const Pt2Program& program_;
  Pt2Weights& weights_;
  Pt2Values values_;
  Pt2Names names_;
  LayerNames owners_;
  Pt2Aliases aliases_;
  Graph graph_;
  std::map<std::string, Value*> state_;  // by identity
};

}  // namespace

Graph graph_of_pt2(const Pt2Program& program, Pt2Weights& weights, const ImportOptions& options) {
  if (!options.allow_unsupported) check_targets(program);
  return GraphMaker(program, weights).make();
}

}  // namespace quench
