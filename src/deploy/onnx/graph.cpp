#include "deploy/onnx/graph.h"

#include <ATen/ATen.h>
#include <quench_onnx.pb.h>

#include <unordered_map>

#include "deploy/onnx/encode.h"
#include "graph/tensor_types.h"
#include "quench/error.h"
#include "quench/op.h"

namespace quench {
namespace {

using quench_onnx::GraphProto;
using quench_onnx::NodeProto;

constexpr std::int64_t kMaxCompared = 1024;  // larger constants are never copies of an outer one

// One graph and the names that its values have in the file. ONNX lets a body see the names around it, so
// its own must differ from all of those.
class GraphEncoder {
 public:
  GraphEncoder(const Graph& graph, const GraphEncoder* outer, const StoreTensor& store)
      : graph_(graph), outer_(outer), store_(store) {}

  // `node` is whose body this is; null for the whole graph.
  void encode(const Node* node, GraphProto& proto);

 private:
  void name_captures(const Node& node);
  void name_values();
  void name_value(const Value& value);
  bool is_taken(const std::string& name) const;
  const Value* same_outer_constant(const Value& value) const;
  void encode_inputs(const Node* node, GraphProto& proto) const;
  void encode_constants(GraphProto& proto) const;
  void encode_node(const Node& node, GraphProto& proto) const;
  void encode_attributes(const Node& node, NodeProto& proto) const;
  void encode_outputs(GraphProto& proto);
  const std::string& name_of(const Value& value) const { return names_.at(&value); }
  void declare(const Value& value, quench_onnx::ValueInfoProto& info) const;

  const Graph& graph_;
  const GraphEncoder* outer_;
  const StoreTensor& store_;
  std::unordered_map<const Value*, std::string> names_;
  std::set<std::string> taken_;      // names of this graph
  std::set<const Value*> borrowed_;  // captured, or a copy of an outer constant: not written here
};

bool GraphEncoder::is_taken(const std::string& name) const {
  return taken_.contains(name) || (outer_ && outer_->is_taken(name));
}

void GraphEncoder::name_value(const Value& value) {
  std::string name = value.name();
  for (int i = 1; is_taken(name); ++i) name = concat(value.name(), "_", i);
  taken_.insert(name);
  names_[&value] = name;
}

const Value* GraphEncoder::same_outer_constant(const Value& value) const {
  const Value* same = outer_ && value.is_constant() ? outer_->graph_.find_value(value.name()) : nullptr;
  const bool equal = same && same->is_constant() && same->dtype() == value.dtype() &&
                     value.tensor().numel() <= kMaxCompared && bit_equal(same->tensor(), value.tensor());
  return equal && !value.is_graph_output() ? same : nullptr;
}

void GraphEncoder::name_captures(const Node& node) {
  const std::size_t own_inputs = node.inputs().size() - static_cast<std::size_t>(node.captures);
  const std::size_t own = graph_.inputs().size() - static_cast<std::size_t>(node.captures);
  for (std::size_t i = own; i < graph_.inputs().size(); ++i) {
    const Value* captured = node.inputs()[own_inputs + i - own];
    QUENCH_CHECK(captured, node.where(), " captures an absent value");
    names_[graph_.inputs()[i]] = outer_->name_of(*captured);
    borrowed_.insert(graph_.inputs()[i]);
  }
}

void GraphEncoder::name_values() {
  // Names that can be kept are taken first; in order of name, so that the file is always the same.
  for (const Value* value : graph_.values()) {
    if (names_.contains(value)) continue;
    if (const Value* same = same_outer_constant(*value)) {
      names_[value] = outer_->name_of(*same);
      borrowed_.insert(value);
    } else if (!is_taken(value->name())) {
      name_value(*value);
    }
  }
  for (const Value* value : graph_.values())
    if (!names_.contains(value)) name_value(*value);
}

void GraphEncoder::declare(const Value& value, quench_onnx::ValueInfoProto& info) const {
  info.set_name(name_of(value));
  if (is_known(value.type())) encode_type(value.type(), *info.mutable_type());
}

void GraphEncoder::encode_inputs(const Node* node, GraphProto& proto) const {
  const std::size_t own = graph_.inputs().size() - static_cast<std::size_t>(node ? node->captures : 0);
  for (std::size_t i = 0; i < own; ++i) declare(*graph_.inputs()[i], *proto.add_input());
}

void GraphEncoder::encode_constants(GraphProto& proto) const {
  for (const Value* value : graph_.constants()) {
    if (borrowed_.contains(value)) continue;
    quench_onnx::TensorProto* tensor = nullptr;
    if (value->is_graph_output()) {  // an initializer may not be an output everywhere; a node's output may
      NodeProto& node = *proto.add_node();
      node.set_op_type("Constant");
      node.set_name(name_of(*value));
      node.add_output(name_of(*value));
      node.add_attribute()->set_name("value");
      node.mutable_attribute(0)->set_type(quench_onnx::AttributeProto::TENSOR);
      tensor = node.mutable_attribute(0)->mutable_t();
      encode_tensor(value->tensor(), value->dtype(), *tensor);
    } else {
      tensor = proto.add_initializer();
      tensor->set_name(name_of(*value));
      store_(value->tensor(), value->dtype(), *tensor);
    }
  }
}

void GraphEncoder::encode_attributes(const Node& node, NodeProto& proto) const {
  for (const auto& [key, attr] : node.attrs) {
    if (key.starts_with("quench.")) {
      // On an ONNX operator such a fact is dispensable; an operator of ours cannot run without it.
      QUENCH_CHECK(!node.op().starts_with("quench."), "cannot write ", node.where(), ": it runs code of this program (",
                   key, "), which no file can hold");
      continue;
    }
    auto& attribute = *proto.add_attribute();
    attribute.set_name(key);
    if (const auto* body = std::get_if<GraphPtr>(&attr)) {
      QUENCH_CHECK(*body, node.where(), ": attribute '", key, "' holds no graph");
      attribute.set_type(quench_onnx::AttributeProto::GRAPH);
      GraphEncoder(**body, this, store_).encode(&node, *attribute.mutable_g());
    } else if (const auto* bodies = std::get_if<std::vector<GraphPtr>>(&attr)) {
      attribute.set_type(quench_onnx::AttributeProto::GRAPHS);
      for (const GraphPtr& each : *bodies) GraphEncoder(*each, this, store_).encode(&node, *attribute.add_graphs());
    } else {
      encode_attribute(attr, attribute);
    }
  }
}

// The inputs that an importer would take for parameters though they are none any more: a learned scale that was frozen.
std::string fixed_inputs(const Node& node) {
  const OpEntry* entry = OpRegistry::instance().find(node.op());
  std::string fixed;
  if (!entry || !entry->traits.learned_slots) return fixed;
  for (const int slot : entry->traits.learned_slots(node)) {
    const Value* value = node.input(slot);
    if (value && value->is_constant() && !value->is_parameter()) fixed += concat(fixed.empty() ? "" : " ", slot);
  }
  return fixed;
}

void GraphEncoder::encode_node(const Node& node, GraphProto& proto) const {
  NodeProto& to = *proto.add_node();
  const std::string domain = domain_of(node.op());
  to.set_op_type(domain.empty() ? node.op() : node.op().substr(domain.size() + 1));
  if (!domain.empty() && domain != kVendorDomain) to.set_domain(domain);
  to.set_name(node.name());
  const std::size_t own = node.inputs().size() - static_cast<std::size_t>(node.captures);
  for (std::size_t i = 0; i < own; ++i) to.add_input(node.inputs()[i] ? name_of(*node.inputs()[i]) : "");
  for (const Value* output : node.outputs()) to.add_output(output ? name_of(*output) : "");
  encode_attributes(node, to);
  const auto add_metadata = [&](const std::string& key, const std::string& value) {
    auto* entry = to.add_metadata_props();
    entry->set_key(key);
    entry->set_value(value);
  };
  for (const auto& [key, value] : node.metadata) add_metadata(key, value);
  if (node.frozen) add_metadata("quench.frozen", "1");
  if (const std::string fixed = fixed_inputs(node); !fixed.empty()) add_metadata("quench.fixed_inputs", fixed);
}

// What a body hands out must be made in it: an outer value goes through an Identity.
void GraphEncoder::encode_outputs(GraphProto& proto) {
  for (const Value* output : graph_.outputs()) {
    auto& info = *proto.add_output();
    declare(*output, info);
    if (!borrowed_.contains(output)) continue;
    NodeProto& copy = *proto.add_node();
    copy.set_op_type("Identity");
    copy.add_input(name_of(*output));
    std::string name = concat(name_of(*output), "_out");
    for (int i = 1; is_taken(name); ++i) name = concat(name_of(*output), "_out_", i);
    taken_.insert(name);
    copy.set_name(name);
    copy.add_output(name);
    info.set_name(name);
  }
}

void GraphEncoder::encode(const Node* node, GraphProto& proto) {
  proto.set_name(!graph_.name.empty() ? graph_.name : node ? "body" : "graph");
  if (node) name_captures(*node);
  name_values();
  encode_inputs(node, proto);
  encode_constants(proto);
  for (const auto& each : graph_.nodes())
    with_context([&] { return concat("while writing ", each->where()); }, [&] { encode_node(*each, proto); });
  encode_outputs(proto);
  for (const auto& each : graph_.nodes())
    for (const Value* output : each->outputs())
      if (output && !output->is_graph_output() && is_known(output->type())) declare(*output, *proto.add_value_info());
  if (!node) return;
  proto.set_doc_string(graph_.doc);
  for (const auto& [key, value] : graph_.metadata) {
    auto* entry = proto.add_metadata_props();
    entry->set_key(key);
    entry->set_value(value);
  }
}

}  // namespace

void encode_graph(const Graph& graph, const StoreTensor& store, GraphProto& proto) {
  GraphEncoder(graph, nullptr, store).encode(nullptr, proto);
}

std::string domain_of(const std::string& op) {
  const std::size_t dot = op.rfind('.');
  return dot == std::string::npos ? "" : op.substr(0, dot);
}

std::set<std::string> domains_of(const Graph& graph) {
  std::set<std::string> domains;
  for (const auto& node : graph.nodes()) {
    domains.insert(domain_of(node->op()));
    for (const auto& [key, attr] : node->attrs) {
      if (const auto* body = std::get_if<GraphPtr>(&attr); body && *body) domains.merge(domains_of(**body));
      if (const auto* bodies = std::get_if<std::vector<GraphPtr>>(&attr))
        for (const GraphPtr& each : *bodies) domains.merge(domains_of(*each));
    }
  }
  return domains;
}

}  // namespace quench
