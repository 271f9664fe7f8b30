#include "import/module_graph.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <set>

#include "graph/tensor_types.h"
#include "import/aten.h"
#include "import/aten_graph.h"
#include "import/module_aliases.h"
#include "import/module_dims.h"
#include "import/module_names.h"
#include "quench/error.h"

namespace quench {
namespace {

bool same(const TraceConstant& a, const TraceConstant& b) {
  return std::visit(
      [&](const auto& left) {
        using T = std::decay_t<decltype(left)>;
        if constexpr (std::is_same_v<T, TensorAttr>)
          return bit_equal(*left.tensor, *std::get<T>(b).tensor);
        else
          return left == std::get<T>(b);
      },
      a);
}

class GraphMaker {
 public:
  explicit GraphMaker(const ModuleRecord& record)
      : record_(record), first_(record.traces[0]), dims_(record.traces, record.inputs), aliases_(first_) {}

  Graph make() {
    add_inputs();
    find_unpacked_lists();
    for (std::size_t i = 0; i < first_.nodes.size(); ++i) read(i);
    for (const int output : first_.outputs) add_output(output);
    return std::move(graph_);
  }

 private:
  void add_inputs() {
    for (std::size_t i = 0; i < record_.inputs.size(); ++i)
      env_[first_.inputs[i]] = &graph_.add_input(record_.input_names[i], record_.inputs[i]);
    for (std::size_t i = 0; i < record_.state.size(); ++i) {
      const StateTensor& state = record_.state[i];
      Value& value = graph_.add_constant(graph_.unique_name(state.name), *state.tensor.tensor);
      value.set_parameter(state.is_parameter);
      names_.own(value, layer_of_tensor(state.name));
      env_[first_.inputs[record_.inputs.size() + i]] = &value;
    }
  }

  void find_unpacked_lists() {
    for (const TraceNode& node : first_.nodes)
      if (node.kind == "prim::ListUnpack") unpacked_[node.inputs.at(0)] = node.outputs;
  }

  void read(std::size_t at) {
    const TraceNode& node = first_.nodes[at];
    if (node.kind == "prim::Constant") {
      constants_[node.outputs[0]] = at;
    } else if (node.kind == "prim::ListConstruct" || node.kind == "prim::TupleConstruct") {
      aliases_.check(at, node.kind, [](int) { return ""; });
      lists_[node.outputs[0]] = node.inputs;
    } else if (node.kind == "prim::ListUnpack") {
      unpack(node);
    } else if (node.kind == "aten::size" && node.inputs.size() == 2) {
      read_size(at);
    } else if (node.kind == "prim::NumToTensor" || node.kind == "aten::Int" || node.kind == "aten::ScalarImplicit") {
      env_[node.outputs[0]] = argument(node.inputs[0], at);
    } else {
      map(at);
    }
  }

  void unpack(const TraceNode& node) {
    if (const auto list = lists_.find(node.inputs[0]); list != lists_.end()) {
      for (std::size_t i = 0; i < node.outputs.size(); ++i) env_[node.outputs[i]] = env_.at(list->second.at(i));
      return;
    }
    const auto& values = std::get<Values>(env_.at(node.inputs[0]));
    for (std::size_t i = 0; i < node.outputs.size(); ++i) env_[node.outputs[i]] = values.at(i);
  }

  void read_size(std::size_t at) {
    const TraceNode& node = first_.nodes[at];
    const auto axis = std::get<AtenInt>(argument(node.inputs[1], at));
    auto* value = std::get<Value*>(argument(node.inputs[0], at));
    AtenInt size;
    size.source = value;
    size.axis = static_cast<int>(axis.number < 0 ? axis.number + value->rank() : axis.number);
    size.dim = value->dims().at(static_cast<std::size_t>(size.axis));
    env_[node.outputs[0]] = size.dim.is_number() ? AtenInt(size.dim.number()) : size;
  }

  void map(std::size_t at) {
    const TraceNode& node = first_.nodes[at];
    const std::string kind = plain_kind(node.kind);
    const Values inputs = tensor_inputs(node);
    const AtenEntry* entry = AtenRegistry::instance().find(kind);
    LayerNames::Name name = names_.name_call(kind, inputs, entry && entry->is_layer);
    if (kind == "quench::leaf") name = leaf_name(node);
    AtenCall call(graph_, kind, name.name);
    aliases_.check(at, call.where(), [&](int value) { return state_name(value); });
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const std::string arg = i < node.arg_names.size() ? node.arg_names[i] : concat("#", i);
      call.args[arg] =
          with_context([&] { return concat("in ", call.where()); }, [&] { return argument(node.inputs[i], at); });
    }
    const std::vector<int> results = result_values(node);
    for (const int result : results) call.outputs.push_back(recorded_type(result));
    if (kind == "quench::leaf") call.args["parameters"] = leaf_parameters(name.name);
    take_results(node, results, call, name.layer, map_aten_call(call));
    if (!inputs.empty() && (kind == "t" || kind == "transpose" || kind == "permute"))
      names_.pass_owner(*inputs[0], *std::get<Value*>(env_.at(results[0])));
  }

  void take_results(const TraceNode& node, const std::vector<int>& results, const AtenCall& call,
                    const std::string& layer, const Values& values) {
    QUENCH_CHECK(values.size() >= results.size(), call.where(), ": mapped to ", values.size(), " values, ",
                 results.size(), " are recorded");
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!values[i]) continue;
      env_[results[i]] = values[i];
      names_.follow(*values[i], layer);
      if (values[i]->producer()) refine_type(*values[i], call.outputs[i]);
    }
    const bool is_list = node.outputs.size() == 1 && unpacked_.contains(node.outputs[0]);
    if (is_list) env_[node.outputs[0]] = values;
  }

  // What was recorded is true; the shape rule of the operator may know more of a dim.
  static void refine_type(Value& value, const TypeInfo& recorded) {
    TypeInfo type = recorded;
    const bool ranked = value.has_rank() && value.dims().size() == type.dims->size();
    for (std::size_t i = 0; ranked && i < type.dims->size(); ++i)
      if ((*type.dims)[i].is_unknown()) (*type.dims)[i] = value.dims()[i];
    value.set_type(type);
  }

  TypeInfo recorded_type(int value) const {
    const TraceValue& traced = first_.values[static_cast<std::size_t>(value)];
    return TypeInfo::tensor(traced.dtype, dims_.dims_of(value));
  }

  std::vector<int> result_values(const TraceNode& node) const {
    const auto list = node.outputs.size() == 1 ? unpacked_.find(node.outputs[0]) : unpacked_.end();
    return list == unpacked_.end() ? node.outputs : list->second;
  }

  // Tensors among the inputs, those in lists included, in order.
  Values tensor_inputs(const TraceNode& node) const {
    Values result;
    const auto take = [&](int number) {
      const auto at = env_.find(number);
      if (at == env_.end()) return;
      if (Value* const* value = std::get_if<Value*>(&at->second); value && *value) result.push_back(*value);
    };
    for (const int input : node.inputs) {
      take(input);
      if (const auto list = lists_.find(input); list != lists_.end())
        std::for_each(list->second.begin(), list->second.end(), take);
    }
    return result;
  }

  AtenArg argument(int number, std::size_t at) {
    if (const auto constant = constants_.find(number); constant != constants_.end())
      return constant_argument(constant->second, at);
    if (const auto list = lists_.find(number); list != lists_.end()) return list_argument(list->second, at);
    const auto known = env_.find(number);
    QUENCH_CHECK(known != env_.end(), "a result that has no counterpart in a graph is used");
    return known->second;
  }

  AtenArg constant_argument(std::size_t constant, std::size_t at) {
    const TraceConstant& value = first_.nodes[constant].constant;
    if (const auto* tensor = std::get_if<TensorAttr>(&value)) return constant_tensor(*tensor, constant);
    if (std::holds_alternative<std::int64_t>(value)) return integer_argument(constant, at);
    for (const Trace& trace : record_.traces)
      QUENCH_CHECK(same(value, trace.nodes[constant].constant),
                   "a number depends on the shape of the input in a way that is not a dim of some tensor");
    if (const auto* flag = std::get_if<bool>(&value)) return *flag;
    if (const auto* real = std::get_if<double>(&value)) return *real;
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
    if (const auto* reals = std::get_if<std::vector<double>>(&value)) return *reals;
    if (const auto* numbers = std::get_if<std::vector<std::int64_t>>(&value))
      return std::vector<AtenInt>(numbers->begin(), numbers->end());
    return std::monostate();
  }

  AtenArg integer_argument(std::size_t constant, std::size_t at) {
    Numbers numbers;
    for (const Trace& trace : record_.traces) numbers.push_back(std::get<std::int64_t>(trace.nodes[constant].constant));
    if (std::all_of(numbers.begin(), numbers.end(), [&](auto number) { return number == numbers[0]; }))
      return AtenInt(numbers[0]);
    const auto lookup = [&](int value) -> Value* {
      const auto known = env_.find(value);
      Value* const* found = known == env_.end() ? nullptr : std::get_if<Value*>(&known->second);
      return found ? *found : nullptr;
    };
    const std::optional<AtenInt> explained = dims_.explain(numbers, at, lookup);
    QUENCH_CHECK(explained, "the integer ", numbers[0], " becomes ", numbers[1], " and ", numbers[2],
                 " for inputs of other sizes, which no dim of a tensor explains");
    return *explained;
  }

  // A tensor that is no input: the module's own (known by its data), or one made outside of the trace.
  AtenArg constant_tensor(const TensorAttr& attr, std::size_t constant) {
    const at::Tensor& tensor = *attr.tensor;
    for (const StateTensor& state : record_.state) {
      const at::Tensor& own = *state.tensor.tensor;
      if (own.numel() > 0 && own.data_ptr() == tensor.data_ptr() && own.sizes() == tensor.sizes() &&
          own.strides() == tensor.strides() && own.scalar_type() == tensor.scalar_type())
        return &graph_.value(state.name);
    }
    for (const Trace& trace : record_.traces)
      QUENCH_CHECK(same(attr, trace.nodes[constant].constant),
                   "a tensor that is made outside of the traced operators differs from run to run");
    Value*& value = made_constants_[constant];
    if (!value) value = &graph_.add_constant(graph_.unique_name("constant"), tensor.detach().clone());
    return value;
  }

  AtenArg list_argument(const std::vector<int>& elements, std::size_t at) {
    std::vector<AtenInt> integers;
    std::vector<double> reals;
    Values tensors;
    for (const int element : elements) {
      const AtenArg arg = argument(element, at);
      if (const auto* integer = std::get_if<AtenInt>(&arg)) integers.push_back(*integer);
      if (const auto* real = std::get_if<double>(&arg)) reals.push_back(*real);
      if (Value* const* tensor = std::get_if<Value*>(&arg)) tensors.push_back(*tensor);
      if (std::holds_alternative<std::monostate>(arg)) tensors.push_back(nullptr);
    }
    if (!integers.empty() && integers.size() == elements.size()) return integers;
    if (!reals.empty() && reals.size() == elements.size()) return reals;
    QUENCH_CHECK(tensors.size() == elements.size(), "a list mixes tensors and numbers");
    return tensors;
  }

  std::string state_name(int number) const {
    for (std::size_t i = 0; i < record_.state.size(); ++i)
      if (first_.inputs[record_.inputs.size() + i] == number) return record_.state[i].name;
    return "";
  }

  LayerNames::Name leaf_name(const TraceNode& node) const {
    const auto number = std::get<std::int64_t>(first_.nodes[constants_.at(node.inputs[0])].constant);
    const auto at = record_.leaves.find(number);
    const std::string name = at == record_.leaves.end() ? concat("leaf", number) : at->second;
    return {name, name};
  }

  Values leaf_parameters(const std::string& leaf) const {
    Values result;
    for (const StateTensor& state : record_.state)
      if (state.is_parameter && state.name.starts_with(leaf + ".")) result.push_back(&graph_.value(state.name));
    return result;
  }

  void add_output(int number) {
    const AtenArg result = argument(number, first_.nodes.empty() ? 0 : first_.nodes.size() - 1);
    Value* const* value = std::get_if<Value*>(&result);
    QUENCH_CHECK(value && *value, "an output of the module is no tensor that the graph makes");
    add_graph_output(graph_, **value);
  }

  const ModuleRecord& record_;
  const Trace& first_;
  DimExplainer dims_;
  AliasCheck aliases_;
  LayerNames names_;
  Graph graph_;
  std::map<int, AtenArg> env_;
  std::map<int, std::size_t> constants_;      // value -> its prim::Constant
  std::map<int, std::vector<int>> lists_;     // value -> elements
  std::map<int, std::vector<int>> unpacked_;  // list value -> the values it is unpacked into
  std::map<std::size_t, Value*> made_constants_;
};

}  // namespace

void check_alike(const Trace& a, const Trace& b, const std::string& what) {
  const auto kind_at = [](const Trace& trace, std::size_t i) {
    return i < trace.nodes.size() ? concat("'", trace.nodes[i].kind, "'") : "nothing";
  };
  for (std::size_t i = 0; i < std::max(a.nodes.size(), b.nodes.size()); ++i) {
    bool alike = i < a.nodes.size() && i < b.nodes.size();
    if (alike) {
      const TraceNode &left = a.nodes[i], &right = b.nodes[i];
      alike = left.kind == right.kind && left.inputs == right.inputs && left.outputs == right.outputs &&
              left.constant.index() == right.constant.index();
    }
    QUENCH_CHECK(alike, "the module runs other operators for ", what, ": ", kind_at(b, i), " instead of ",
                 kind_at(a, i), "; control flow that depends on sizes or data cannot be traced");
  }
  QUENCH_CHECK(a.outputs == b.outputs, "the module returns other results for ", what);
}

Graph graph_of_traces(const ModuleRecord& record) { return GraphMaker(record).make(); }

}  // namespace quench
