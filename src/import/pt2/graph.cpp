#include "import/pt2/graph.h"

#include <ATen/ATen.h>

#include "import/aten/graph.h"
#include "import/pt2/calls.h"
#include "import/pt2/targets.h"
#include "quench/error.h"

namespace quench {
namespace {

using Kind = Pt2Item::Kind;

class GraphMaker {
 public:
  GraphMaker(const Pt2Program& program, Pt2Weights& weights)
      : program_(program), weights_(weights), calls_(program, graph_) {}

  Graph make(std::map<std::string, std::string>* names) {
    for (const Pt2Input& input : program_.inputs) add_input(input);
    calls_.read();
    for (const Pt2Item& output : program_.outputs) add_output(output);
    if (names)
      for (const auto& [name, value] : calls_.values.tensors()) names->emplace(name, value->name());
    QUENCH_CHECK(!graph_.outputs().empty(), "the program has no output that is a tensor");
    return std::move(graph_);
  }

 private:
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
      calls_.owners.own(*value, layer_of_tensor(input.name));
    }
    calls_.values.bind(input.arg.text, *value);
    calls_.aliases.add_state(input.arg.text, input.name);
  }

  void add_user_input(const Pt2Item& arg) {
    if (arg.kind == Kind::kTensor)
      return calls_.values.bind(arg.text, graph_.add_input(free_name(arg.text), calls_.values.type_of(arg.text)));
    if (arg.kind != Kind::kSymbol) {  // a number or None that the program was specialised to
      QUENCH_CHECK(arg.kind != Kind::kOther, "an input of the kind '", arg.text, "' is not supported");
      return;
    }
    AtenInt number;
    number.source = &graph_.add_input(free_name(arg.text), TypeInfo::tensor(DType::kInt64, Dims{}));
    number.axis = -1;
    number.dim = calls_.values.dim_of(arg.text);
    calls_.values.bind(arg.text, number);
  }

  std::string free_name(const std::string& name) const {
    QUENCH_CHECK(!name.empty(), "an input without a name");
    QUENCH_CHECK(!graph_.find_value(name), "two inputs named '", name, "'");
    return name;
  }

  void add_output(const Pt2Item& output) {
    if (output.kind == Kind::kNone) return;
    QUENCH_CHECK(output.kind == Kind::kTensor, "an output of the program is not a tensor");
    calls_.aliases.check_read(output.text, concat("the program's result '", output.text, "'"));
    add_graph_output(graph_, calls_.values.tensor(output.text));
  }

  const Pt2Program& program_;
  Pt2Weights& weights_;
  Graph graph_;
  Pt2Calls calls_;
  std::map<std::string, Value*> state_;  // by identity
};

}  // namespace

Graph graph_of_pt2(const Pt2Program& program, Pt2Weights& weights, const ImportOptions& options,
                   std::map<std::string, std::string>* names) {
  if (!options.allow_unsupported) check_targets(program);
  return GraphMaker(program, weights).make(names);
}

}  // namespace quench
