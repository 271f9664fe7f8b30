#include "import/pt2/program.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "import/pt2/arguments.h"
#include "import/pt2/json.h"
#include "quench/error.h"

namespace quench {
namespace {

using nlohmann::json;

constexpr std::int64_t kSchema = 8;

void check_version(const json& program) {
  const json& version = object_member(program, "schema_version");
  const std::int64_t major = integer_member(version, "major");
  QUENCH_CHECK(major == kSchema, "a program of torch.export's schema ", major, "; schema ", kSchema,
               " is read (torch 2.6 and newer)");
}

std::vector<Pt2Item> items_of(const std::vector<Pt2Arg>& args) {
  std::vector<Pt2Item> items;
  for (const Pt2Arg& arg : args) items.insert(items.end(), arg.items.begin(), arg.items.end());
  return items;
}

std::vector<Pt2Item> items_of(const json& arguments) {
  std::vector<Pt2Arg> args;
  for (const json& argument : arguments) args.push_back(read_pt2_argument(argument));
  return items_of(args);
}

Pt2Program read_body(const json& graph);

constexpr const char *kNoGrad = "torch.ops.higher_order.wrap_with_set_grad_enabled",
                     *kAutocast = "torch.ops.higher_order.wrap_with_autocast";

// A call that only wraps a graph is replaced by the graph's calls (wrapped_graph()), so it is not read here: reading it
// in both places would double the time with every level of nesting.
Pt2Arg read_argument(const json& argument, const std::string& target) {
  const json* body = argument.is_object() ? find_member(argument, "as_graph") : nullptr;
  if (!body) return read_pt2_argument(argument);
  Pt2Item item;
  item.kind = Pt2Item::Kind::kGraph;
  item.text = text_member(*body, "name");
  if (target != kNoGrad && target != kAutocast)
    item.graph = std::make_shared<const Pt2Program>(read_body(object_member(*body, "graph")));
  return {false, {item}};
}

Pt2Node read_node(const json& node) {
  Pt2Node result;
  result.target = text_member(node, "target");
  result.name = find_member(node, "name") ? text_member(node, "name") : result.target;
  return with_context([&] { return concat("in node '", result.name, "' (", result.target, ") of the program"); },
                      [&] {
                        if (const json* metadata = find_member(node, "metadata"))
                          if (find_member(*metadata, "nn_module_stack"))
                            result.modules = text_member(*metadata, "nn_module_stack");
                        for (const json& input : array_member(node, "inputs"))
                          result.inputs.emplace_back(text_member(input, "name"),
                                                     read_argument(member(input, "arg"), result.target));
                        for (const json& output : array_member(node, "outputs")) {
                          result.outputs.push_back(read_pt2_argument(output));
                          result.is_condition = result.is_condition || find_member(output, "as_sym_bool");
                        }
                        return result;
                      });
}

Pt2Input state_input(const json& spec, Pt2Input::Kind kind, const char* name_key) {
  Pt2Input result;
  result.kind = kind;
  result.arg.kind = Pt2Item::Kind::kTensor;
  result.arg.text = text_member(object_member(spec, "arg"), "name");
  result.name = text_member(spec, name_key);
  result.persistent = flag_member(spec, "persistent", true);
  return result;
}

Pt2Input read_input(const json& input) {
  using Kind = Pt2Input::Kind;
  const std::string tag = tag_of(input, "an input");
  const json& spec = input.begin().value();
  if (tag == "parameter") return state_input(spec, Kind::kParameter, "parameter_name");
  if (tag == "buffer") return state_input(spec, Kind::kBuffer, "buffer_name");
  if (tag == "tensor_constant") return state_input(spec, Kind::kConstant, "tensor_constant_name");
  Pt2Input result;
  if (tag == "constant_input") {  // a number that the program was specialised to
    result.kind = Kind::kIgnored;
    return result;
  }
  if (tag == "custom_obj")
    fail("the program uses '", text_member(spec, "custom_obj_name"), "', an object of a custom class (TorchBind), ",
         "whose code an archive does not hold; keep what it computes out of the exported module");
  QUENCH_CHECK(tag == "user_input", "an input of the kind '", tag, "' is not supported");
  result.arg = read_pt2_item(member(spec, "arg"));
  return result;
}

// What the program writes back besides its outputs would be state of a kind that graphs do not keep.
void read_output(const json& output, std::vector<Pt2Item>& outputs) {
  const std::string tag = tag_of(output, "an output");
  const json& spec = output.begin().value();
  if (tag == "user_output") {
    outputs.push_back(read_pt2_item(member(spec, "arg")));
    return;
  }
  if (tag == "buffer_mutation")
    fail("the program writes to its buffer '", text_member(spec, "buffer_name"),
         "', and a graph keeps no such state; export the module in evaluation mode");
  if (tag == "user_input_mutation")
    fail("the program writes to its input '", text_member(spec, "user_input_name"), "', which a graph cannot");
  fail("an output of the kind '", tag, "' is not supported");
}

// The names of a graph inside another one, as names of the program.
struct Renaming {
  std::string prefix;
  std::map<std::string, std::string> known;  // its inputs and outputs, which the outer graph names

  std::string of(const std::string& name) const {
    const auto at = known.find(name);
    return at == known.end() ? prefix + name : at->second;
  }
  void apply(std::vector<Pt2Item>& items) const {
    for (Pt2Item& item : items)
      if (item.kind == Pt2Item::Kind::kTensor || item.kind == Pt2Item::Kind::kSymbol) item.text = of(item.text);
  }
};

void read_values(const json& graph, const Renaming& names, Pt2Program& program) {
  const json& tensors = object_member(graph, "tensor_values");
  for (const auto& [name, meta] : tensors.items())
    with_context([&, &key = name] { return concat("in tensor '", key, "' of the program"); },
                 [&, &key = name, &value = meta] { program.tensors.try_emplace(names.of(key), read_pt2_type(value)); });
  const json* symbols = find_member(graph, "sym_int_values");
  if (!symbols) return;
  for (const auto& [name, value] : symbols->items()) program.symbols.try_emplace(names.of(name), read_pt2_size(value));
}

void pair_names(const std::vector<Pt2Item>& inner, const std::vector<Pt2Item>& outer, Renaming& names) {
  QUENCH_CHECK(inner.size() == outer.size(), "a graph of ", inner.size(), " inputs or outputs is called with ",
               outer.size());
  for (std::size_t i = 0; i < inner.size(); ++i) {
    QUENCH_CHECK(inner[i].kind == outer[i].kind && !inner[i].text.empty(),
                 "a graph is called with arguments that it does not take");
    const bool fresh = names.known.emplace(inner[i].text, outer[i].text).second;
    QUENCH_CHECK(fresh, "a nested graph that returns its own input is not supported");
  }
}

void read_graph(const json& graph, const Renaming& names, Pt2Program& program);

// A graph that a call only wraps, as its place among the arguments: torch.no_grad(), (flag, graph, inputs ...), and
// torch.autocast() where it is switched off, (device, type, flag, flag, graph, inputs ...). Gradients are the
// executor's business, and no type changes, so the calls inside take its place.
std::optional<std::size_t> wrapped_graph(const Pt2Node& node) {
  std::size_t place = 0;
  if (node.target == kNoGrad) place = 1;
  if (node.target == kAutocast && node.inputs.size() > 4) {
    const std::vector<Pt2Item>& enabled = node.inputs[2].second.items;
    QUENCH_CHECK(enabled.size() == 1 && enabled[0].kind == Pt2Item::Kind::kFlag && !enabled[0].flag, "in node '",
                 node.name, "': torch.autocast() is not supported; export the module without it");
    place = 4;
  }
  const bool found = place > 0 && place < node.inputs.size() && node.inputs[place].second.items.size() == 1 &&
                     node.inputs[place].second.items[0].kind == Pt2Item::Kind::kGraph;
  return found ? std::optional(place) : std::nullopt;
}

void inline_graph(const json& graph, const Pt2Node& node, std::size_t place, Pt2Program& program) {
  Renaming names{node.name + ".", {}};
  std::vector<Pt2Arg> given;
  for (std::size_t i = place + 1; i < node.inputs.size(); ++i) given.push_back(node.inputs[i].second);
  pair_names(items_of(array_member(graph, "inputs")), items_of(given), names);
  pair_names(items_of(array_member(graph, "outputs")), items_of(node.outputs), names);
  read_graph(graph, names, program);
}

void read_graph(const json& graph, const Renaming& names, Pt2Program& program) {
  read_values(graph, names, program);
  for (const json& entry : array_member(graph, "nodes")) {
    Pt2Node node = read_node(entry);
    node.name = names.prefix + node.name;
    for (auto& [name, arg] : node.inputs) names.apply(arg.items);
    for (Pt2Arg& output : node.outputs) names.apply(output.items);
    if (const std::optional<std::size_t> place = wrapped_graph(node)) {
      const json& body = object_member(member(array_member(entry, "inputs")[*place], "arg"), "as_graph");
      inline_graph(object_member(body, "graph"), node, *place, program);
    } else {
      program.nodes.push_back(std::move(node));
    }
  }
}

// Random numbers that are drawn but not read: from layers that training drops at random.
void drop_unused_draws(Pt2Program& program) {
  std::set<std::string> used;
  for (const Pt2Item& item : program.outputs) used.insert(item.text);
  for (const Pt2Node& node : program.nodes)
    for (const auto& [name, arg] : node.inputs)
      for (const Pt2Item& item : arg.items) used.insert(item.text);
  std::erase_if(program.nodes, [&](const Pt2Node& node) {
    const std::vector<Pt2Item> results = items_of(node.outputs);
    return node.target.starts_with("torch.ops.aten.rand") &&
           std::none_of(results.begin(), results.end(), [&](const Pt2Item& item) { return used.contains(item.text); });
  });
}

Pt2Program read_body(const json& graph) {
  Pt2Program body;
  read_graph(graph, {}, body);
  for (Pt2Item& item : items_of(array_member(graph, "inputs"))) {
    Pt2Input input;
    input.arg = std::move(item);
    body.inputs.push_back(std::move(input));
  }
  body.outputs = items_of(array_member(graph, "outputs"));
  drop_unused_draws(body);
  return body;
}

}  // namespace

Pt2Program read_pt2_program(const std::string& text, const std::string& what) {
  const json parsed = parse_pt2_json(text, what);
  check_version(parsed);
  Pt2Program program;
  if (find_member(parsed, "torch_version")) program.torch_version = text_member(parsed, "torch_version");
  const json& module = object_member(parsed, "graph_module");
  const json& graph = object_member(module, "graph");
  read_graph(graph, {}, program);
  const json& signature = object_member(module, "signature");
  for (const json& input : array_member(signature, "input_specs")) program.inputs.push_back(read_input(input));
  for (const json& output : array_member(signature, "output_specs")) read_output(output, program.outputs);
  drop_unused_draws(program);
  return program;
}

}  // namespace quench
