#include "import/onnx/graph.h"

#include <ATen/ATen.h>
#include <quench_onnx.pb.h>

#include <set>

#include "import/onnx/attributes.h"
#include "import/onnx/tensor.h"
#include "import/onnx/types.h"
#include "quench/error.h"
#include "quench/registry.h"

namespace quench {
namespace {

using quench_onnx::AttributeProto;
using quench_onnx::GraphProto;
using quench_onnx::NodeProto;

// Captured constants up to this size are copied into bodies, where shape functions can read them.
constexpr std::int64_t kMaxCopied = 1024;

bool is_copied(const Value& value) { return value.is_constant() && value.tensor().numel() <= kMaxCopied; }

using Names = std::set<std::string>;

Names defined_names(const GraphProto& graph) {
  Names names;
  for (const auto& input : graph.input()) names.insert(input.name());
  for (const auto& tensor : graph.initializer()) names.insert(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) names.insert(tensor.values().name());
  for (const auto& node : graph.node()) names.insert(node.output().begin(), node.output().end());
  return names;
}

// What a body reads and does not make itself.
void add_outer_names(const GraphProto& graph, Names& outer) {
  const Names own = defined_names(graph);
  const auto note = [&](const std::string& name) {
    if (!name.empty() && !own.contains(name)) outer.insert(name);
  };
  for (const auto& output : graph.output()) note(output.name());
  for (const auto& node : graph.node()) {
    for (const std::string& input : node.input()) note(input);
    Names inner;
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) add_outer_names(attribute.g(), inner);
      for (const auto& body : attribute.graphs()) add_outer_names(body, inner);
    }
    for (const std::string& name : inner) note(name);
  }
}

std::string op_of(const NodeProto& node) {
  QUENCH_CHECK(!node.op_type().empty(), "node '", node.name(), "' names no operator");
  return node.domain().empty() || node.domain() == "ai.onnx" ? node.op_type() : node.domain() + "." + node.op_type();
}

std::string name_of(const NodeProto& node) {
  if (!node.name().empty()) return node.name();
  for (const std::string& output : node.output())
    if (!output.empty()) return output;
  return node.op_type();
}

bool is_constant(const NodeProto& node) {
  if (op_of(node) != "Constant" || node.output_size() != 1 || node.attribute_size() != 1) return false;
  const std::string& key = node.attribute(0).name();
  return key != "value_string" && key != "value_strings";
}

TensorAttr constant_of(const Attr& attr, const std::string& name) {
  if (const auto* tensor = std::get_if<TensorAttr>(&attr)) return *tensor;
  if (const auto* number = std::get_if<std::int64_t>(&attr))
    return make_tensor_attr(at::scalar_tensor(*number, at::kLong));
  if (const auto* number = std::get_if<double>(&attr)) return make_tensor_attr(at::scalar_tensor(*number, at::kFloat));
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&attr))
    return make_tensor_attr(at::tensor(*list, at::kLong));
  if (const auto* list = std::get_if<std::vector<double>>(&attr))
    return make_tensor_attr(at::tensor(*list, at::kFloat));
  fail("Constant '", name, "' holds neither a tensor nor numbers");
}

std::vector<std::string> without_trailing_blanks(std::vector<std::string> names) {
  while (!names.empty() && names.back().empty()) names.pop_back();
  return names;
}

// One graph: constants first, then every node with its outputs, then the links, so that nodes may come
// in any order in the file.
class GraphBuilder {
 public:
  explicit GraphBuilder(const ExternalData& external) : external_(external) {}

  Graph build(GraphProto& proto, const std::vector<const Value*>& captured);

 private:
  void add_constants(GraphProto& proto);
  void add_inputs(const GraphProto& proto);
  void take_captured(const GraphProto& proto, const std::vector<const Value*>& captured);
  void declare_types(const GraphProto& proto);
  Node& add_node(const NodeProto& proto);
  void link(NodeProto& proto, Node& node);
  void add_bodies(NodeProto& proto, Node& node, std::vector<Value*>& inputs);
  Value& find(const std::string& name, const std::string& reader) const;

  const ExternalData& external_;
  Graph graph_;
};

void GraphBuilder::add_constants(GraphProto& proto) {
  for (auto& tensor : *proto.mutable_initializer()) {
    const TensorAttr decoded = decode_tensor(tensor, external_);
    graph_.add_constant(tensor.name(), *decoded.tensor, decoded.dtype);
    delete tensor.release_raw_data();
  }
  for (const auto& tensor : proto.sparse_initializer()) {
    const TensorAttr decoded = decode_sparse_tensor(tensor, external_);
    graph_.add_constant(tensor.values().name(), *decoded.tensor, decoded.dtype);
  }
  for (const auto& node : proto.node()) {
    if (!is_constant(node)) continue;
    const auto where = [&] { return concat("at node '", name_of(node), "' (Constant)"); };
    with_context(where, [&] {
      const TensorAttr decoded = constant_of(decode_attribute(node.attribute(0), external_), name_of(node));
      graph_.add_constant(node.output(0), *decoded.tensor, decoded.dtype);
    });
  }
}

void GraphBuilder::add_inputs(const GraphProto& proto) {
  for (const auto& input : proto.input()) {
    const Value* known = graph_.find_value(input.name());
    if (known && known->is_constant()) continue;  // an initializer with a default: a constant here
    with_context([&] { return concat("at input '", input.name(), "'"); },
                 [&] { graph_.add_input(input.name(), decode_type(input.type())); });
  }
}

// `captured` is what all bodies of a node read; each takes all of the values, in the same order, but
// only the constants that it reads itself.
void GraphBuilder::take_captured(const GraphProto& proto, const std::vector<const Value*>& captured) {
  Names read;
  add_outer_names(proto, read);
  const Names own = defined_names(proto);
  for (const Value* value : captured) {
    const std::string& name = value->name();
    if (!is_copied(*value))
      graph_.add_input(own.contains(name) ? graph_.unique_name(name + ":outer") : name, value->type());
    else if (read.contains(name))
      graph_.add_constant(name, value->tensor(), value->dtype());
  }
}

void GraphBuilder::declare_types(const GraphProto& proto) {
  const auto declare = [&](const quench_onnx::ValueInfoProto& info) {
    Value* value = graph_.find_value(info.name());
    if (value && info.has_type()) value->set_type(merge_types(value->type(), decode_type(info.type()), info.name()));
  };
  for (const auto& info : proto.value_info())
    with_context([&] { return concat("in the value_info of '", info.name(), "'"); }, [&] { declare(info); });
  for (const auto& info : proto.output())
    with_context([&] { return concat("at output '", info.name(), "'"); }, [&] { declare(info); });
}

Node& GraphBuilder::add_node(const NodeProto& proto) {
  const std::vector<std::string> outputs = without_trailing_blanks({proto.output().begin(), proto.output().end()});
  QUENCH_CHECK(!outputs.empty(), "node '", proto.name(), "' (", op_of(proto), ") has no outputs");
  Node& node = graph_.add(op_of(proto), name_of(proto), {}, outputs);
  for (const auto& entry : proto.metadata_props()) node.metadata[entry.key()] = entry.value();
  node.frozen = node.metadata.erase("quench.frozen") > 0;
  return node;
}

Value& GraphBuilder::find(const std::string& name, const std::string& reader) const {
  if (Value* value = graph_.find_value(name)) return *value;
  std::vector<std::string> names;
  for (const Value* value : graph_.values()) names.push_back(value->name());
  const std::string nearest = nearest_name(name, names);
  fail(reader, " reads '", name, "', which nothing in the graph makes",
       nearest.empty() ? "" : concat(" (nearest: '", nearest, "')"));
}

void GraphBuilder::add_bodies(NodeProto& proto, Node& node, std::vector<Value*>& inputs) {
  Names outer;
  for (const auto& attribute : proto.attribute()) {
    if (attribute.has_g()) add_outer_names(attribute.g(), outer);
    for (const auto& body : attribute.graphs()) add_outer_names(body, outer);
  }
  std::vector<const Value*> captured;
  for (const std::string& name : outer) {
    Value& value = find(name, concat("a body of ", node.where()));
    captured.push_back(&value);
    if (is_copied(value)) continue;
    inputs.push_back(&value);
    ++node.captures;
  }
  const auto build_body = [&](GraphProto& body, const std::string& key) {
    return with_context([&] { return concat("in the body '", key, "' of ", node.where()); },
                        [&] { return std::make_shared<Graph>(GraphBuilder(external_).build(body, captured)); });
  };
  for (auto& attribute : *proto.mutable_attribute()) {
    if (attribute.has_g()) node.attrs[attribute.name()] = build_body(*attribute.mutable_g(), attribute.name());
    if (attribute.graphs_size() == 0) continue;
    std::vector<GraphPtr> bodies;
    for (auto& body : *attribute.mutable_graphs()) bodies.push_back(build_body(body, attribute.name()));
    node.attrs[attribute.name()] = std::move(bodies);
  }
}

void GraphBuilder::link(NodeProto& proto, Node& node) {
  bool has_bodies = false;
  for (const auto& attribute : proto.attribute()) {
    QUENCH_CHECK(!attribute.name().empty() && !node.has(attribute.name()), node.where(), ": attribute '",
                 attribute.name(), "' is given twice or has no name");
    has_bodies = has_bodies || holds_graphs(attribute);
    if (!holds_graphs(attribute)) node.attrs[attribute.name()] = decode_attribute(attribute, external_);
  }
  std::vector<std::string> names(proto.input().begin(), proto.input().end());
  // Captures follow the node's own inputs, so a Loop must have its first two in place.
  if (node.op() == "Loop" && names.size() < 2) names.resize(2);
  std::vector<Value*> inputs;
  for (const std::string& name : has_bodies ? names : without_trailing_blanks(names))
    inputs.push_back(name.empty() ? nullptr : &find(name, node.where()));
  if (has_bodies) add_bodies(proto, node, inputs);
  graph_.set_inputs(node, inputs);
}

Graph GraphBuilder::build(GraphProto& proto, const std::vector<const Value*>& captured) {
  graph_.name = proto.name();
  graph_.doc = proto.doc_string();
  for (const auto& entry : proto.metadata_props()) graph_.metadata[entry.key()] = entry.value();
  add_constants(proto);
  add_inputs(proto);
  take_captured(proto, captured);
  std::vector<std::pair<NodeProto*, Node*>> nodes;
  for (auto& node : *proto.mutable_node())
    if (!is_constant(node)) nodes.emplace_back(&node, &add_node(node));
  declare_types(proto);
  for (const auto& [from, node] : nodes)
    with_context([&, to = node] { return concat("at ", to->where()); },
                 [&, from = from, to = node] { link(*from, *to); });
  for (const auto& output : proto.output()) graph_.add_output(find(output.name(), "the graph's list of outputs"));
  graph_.sort();
  return std::move(graph_);
}

}  // namespace

Graph build_graph(GraphProto& proto, const ExternalData& external) { return GraphBuilder(external).build(proto, {}); }

}  // namespace quench
