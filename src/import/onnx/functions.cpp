#include "import/onnx/functions.h"

#include <quench_onnx.pb.h>

#include <algorithm>
#include <set>
#include <vector>

#include "quench/error.h"

namespace quench {
namespace {

using quench_onnx::AttributeProto;
using quench_onnx::FunctionProto;
using quench_onnx::GraphProto;
using quench_onnx::NodeProto;
using NodeList = google::protobuf::RepeatedPtrField<NodeProto>;
using Renames = std::map<std::string, std::string>;

// Functions that call functions twice each grow without bound in a small file.
constexpr double kMaxExpandedNodes = 1e6, kMaxExpandedBytes = 2e9;
constexpr int kMaxDepth = 100;

std::string key_of(const std::string& domain, const std::string& name, const std::string& overload) {
  return concat(domain == "ai.onnx" ? "" : domain, "|", name, "|", overload);
}

std::string describe(const FunctionProto& function) {
  return concat("function '", function.domain(), ".", function.name(), "'");
}

class Inliner {
 public:
  Inliner(const quench_onnx::ModelProto& model, std::map<std::string, std::int64_t>& opsets) : opsets_(opsets) {
    for (const FunctionProto& function : model.functions()) {
      const std::string key = key_of(function.domain(), function.name(), function.overload());
      QUENCH_CHECK(functions_.emplace(key, &function).second, describe(function), " is defined twice");
    }
    collect_names(model.graph());
  }

  void check_size(const NodeList& nodes);
  void expand(NodeList& nodes);

 private:
  void collect_names(const GraphProto& graph);
  void expand_into(NodeProto& node, NodeList& result);
  void expand_call(const FunctionProto& function, const NodeProto& call, NodeList& result);
  void check_opsets(const FunctionProto& function);
  struct Size {
    double nodes = 0, bytes = 0;
  };
  Size measure(const NodeList& nodes);
  Size measure(const std::string& key, const FunctionProto& function);
  Renames bind(const FunctionProto& function, const NodeProto& call, const std::string& prefix, NodeList& result);
  void rename_node(NodeProto& node, const Renames& renames, const std::string& prefix);
  void rename_body(GraphProto& body, Renames renames, const std::string& prefix);
  std::string fresh(const std::string& name);

  std::map<std::string, const FunctionProto*> functions_;
  std::map<std::string, std::int64_t>& opsets_;
  std::set<std::string> names_;        // of values, anywhere in the model
  std::map<std::string, Size> sizes_;  // of functions, everything expanded
  std::set<std::string> measured_;     // now being measured: met again, a function calls itself
  int depth_ = 0;
};

void Inliner::collect_names(const GraphProto& graph) {
  for (const auto& input : graph.input()) names_.insert(input.name());
  for (const auto& tensor : graph.initializer()) names_.insert(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) names_.insert(tensor.values().name());
  for (const NodeProto& node : graph.node()) {
    names_.insert(node.output().begin(), node.output().end());
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) collect_names(attribute.g());
      for (const auto& body : attribute.graphs()) collect_names(body);
    }
  }
}

std::string Inliner::fresh(const std::string& name) {
  std::string result = name;
  for (int i = 1; !names_.insert(result).second; ++i) result = concat(name, "_", i);
  return result;
}

void Inliner::expand(NodeList& nodes) {
  QUENCH_CHECK(++depth_ <= kMaxDepth, "functions and bodies are nested more than ", kMaxDepth, " deep");
  NodeList result;
  for (NodeProto& node : nodes) expand_into(node, result);
  nodes.Swap(&result);
  --depth_;
}

void Inliner::expand_into(NodeProto& node, NodeList& result) {
  for (auto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) expand(*attribute.mutable_g()->mutable_node());
    for (auto& body : *attribute.mutable_graphs()) expand(*body.mutable_node());
  }
  const auto found = functions_.find(key_of(node.domain(), node.op_type(), node.overload()));
  if (found == functions_.end())
    result.Add()->Swap(&node);
  else
    with_context([&] { return concat("in the call '", node.name(), "' of ", describe(*found->second)); },
                 [&] { expand_call(*found->second, node, result); });
}

void Inliner::check_opsets(const FunctionProto& function) {
  for (const auto& import : function.opset_import()) {
    const std::string domain = import.domain() == "ai.onnx" ? "" : import.domain();
    const auto [at, added] = opsets_.emplace(domain, import.version());
    QUENCH_CHECK(added || at->second == import.version(), describe(function), " is written for version ",
                 import.version(), " of domain '", domain, "', the model for ", at->second,
                 "; only functions of the model's own version are supported");
  }
}

Inliner::Size Inliner::measure(const NodeList& nodes) {
  Size size;
  const auto add = [&](const Size& more) {
    size.nodes += more.nodes;
    size.bytes += more.bytes;
  };
  for (const NodeProto& node : nodes) {
    add({1, static_cast<double>(node.ByteSizeLong())});
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) add(measure(attribute.g().node()));
      for (const auto& body : attribute.graphs()) add(measure(body.node()));
    }
    const auto found = functions_.find(key_of(node.domain(), node.op_type(), node.overload()));
    if (found != functions_.end()) add(measure(found->first, *found->second));
  }
  return size;
}

Inliner::Size Inliner::measure(const std::string& key, const FunctionProto& function) {
  if (const auto known = sizes_.find(key); known != sizes_.end()) return known->second;
  QUENCH_CHECK(measured_.insert(key).second, describe(function), " calls itself");
  QUENCH_CHECK(measured_.size() <= kMaxDepth, "functions are nested more than ", kMaxDepth, " deep");
  const Size size = measure(function.node());
  measured_.erase(key);
  return sizes_[key] = size;
}

void Inliner::check_size(const NodeList& nodes) {
  const Size size = measure(nodes);
  QUENCH_CHECK(size.nodes <= kMaxExpandedNodes && size.bytes <= kMaxExpandedBytes, "the model's functions expand to ",
               size.nodes, " nodes and ", size.bytes, " bytes; at most ", kMaxExpandedNodes, " and ", kMaxExpandedBytes,
               " are read");
}

// An attribute that refers to one of the function's takes the call's value, else the default; else it is absent.
void bind_attributes(NodeProto& node, const std::map<std::string, const AttributeProto*>& values) {
  google::protobuf::RepeatedPtrField<AttributeProto> bound;
  for (AttributeProto& attribute : *node.mutable_attribute()) {
    const std::string reference = attribute.ref_attr_name();
    if (!reference.empty()) {
      const auto value = values.find(reference);
      if (value == values.end()) continue;
      const std::string name = attribute.name();
      attribute = *value->second;
      attribute.set_name(name);
    } else {
      const auto bind_nodes = [&](GraphProto& body) {
        for (NodeProto& inner : *body.mutable_node()) bind_attributes(inner, values);
      };
      if (attribute.has_g()) bind_nodes(*attribute.mutable_g());
      for (auto& body : *attribute.mutable_graphs()) bind_nodes(body);
    }
    bound.Add()->Swap(&attribute);
  }
  node.mutable_attribute()->Swap(&bound);
}

// The names of the function's inputs, outputs and inner values in the graph of the call.
Renames Inliner::bind(const FunctionProto& function, const NodeProto& call, const std::string& prefix,
                      NodeList& result) {
  QUENCH_CHECK(call.input_size() <= function.input_size() && call.output_size() <= function.output_size(),
               "the call has ", call.input_size(), " inputs and ", call.output_size(), " outputs; the function takes ",
               function.input_size(), " and gives ", function.output_size());
  Renames renames;
  for (int i = 0; i < function.input_size(); ++i)
    renames[function.input(i)] = i < call.input_size() ? call.input(i) : "";
  for (int i = 0; i < function.output_size() && i < call.output_size(); ++i) {
    if (call.output(i).empty()) continue;
    const auto [at, added] = renames.emplace(function.output(i), call.output(i));
    if (added) continue;
    // An input handed straight out, or an output listed twice.
    NodeProto& copy = *result.Add();
    copy.set_op_type("Identity");
    copy.set_name(call.output(i));
    copy.add_input(at->second);
    copy.add_output(call.output(i));
  }
  for (const NodeProto& node : function.node())
    for (const std::string& output : node.output())
      if (!output.empty() && !renames.contains(output)) renames[output] = fresh(prefix + output);
  return renames;
}

void Inliner::rename_node(NodeProto& node, const Renames& renames, const std::string& prefix) {
  if (!node.name().empty()) node.set_name(prefix + node.name());
  for (std::string& input : *node.mutable_input()) {
    if (input.empty()) continue;
    const auto at = renames.find(input);
    QUENCH_CHECK(at != renames.end(), "node '", node.name(), "' reads '", input,
                 "', which nothing in the function makes");
    input = at->second;
  }
  for (std::string& output : *node.mutable_output())
    if (!output.empty()) output = renames.at(output);
  for (auto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) rename_body(*attribute.mutable_g(), renames, prefix);
    for (auto& body : *attribute.mutable_graphs()) rename_body(body, renames, prefix);
  }
}

// A body's own names change too: one of them might be the name of a value at the call.
void Inliner::rename_body(GraphProto& body, Renames renames, const std::string& prefix) {
  const auto rename = [&](std::string& name) {
    renames[name] = fresh(prefix + name);
    name = renames[name];
  };
  for (auto& input : *body.mutable_input()) rename(*input.mutable_name());
  for (auto& tensor : *body.mutable_initializer()) {
    const auto at = std::find_if(body.input().begin(), body.input().end(), [&](const auto& input) {
      return renames.contains(tensor.name()) && input.name() == renames[tensor.name()];
    });
    if (at == body.input().end())
      rename(*tensor.mutable_name());
    else
      tensor.set_name(renames[tensor.name()]);
  }
  for (auto& tensor : *body.mutable_sparse_initializer()) rename(*tensor.mutable_values()->mutable_name());
  for (const NodeProto& node : body.node())
    for (const std::string& output : node.output())
      if (!output.empty()) renames[output] = fresh(prefix + output);
  for (NodeProto& node : *body.mutable_node()) rename_node(node, renames, prefix);
  for (auto& output : *body.mutable_output())
    if (renames.contains(output.name())) output.set_name(renames[output.name()]);
  body.clear_value_info();
}

void Inliner::expand_call(const FunctionProto& function, const NodeProto& call, NodeList& result) {
  check_opsets(function);
  const std::string prefix = (call.name().empty() && call.output_size() > 0 ? call.output(0) : call.name()) + "/";
  const Renames renames = bind(function, call, prefix, result);
  std::map<std::string, const AttributeProto*> values;
  for (const AttributeProto& attribute : function.attribute_proto()) values[attribute.name()] = &attribute;
  for (const AttributeProto& attribute : call.attribute()) values[attribute.name()] = &attribute;
  NodeList nodes = function.node();
  for (NodeProto& node : nodes) {
    bind_attributes(node, values);
    rename_node(node, renames, prefix);
  }
  expand(nodes);
  for (NodeProto& node : nodes) result.Add()->Swap(&node);
}

}  // namespace

void inline_functions(quench_onnx::ModelProto& model, std::map<std::string, std::int64_t>& opsets) {
  if (model.functions_size() == 0) return;
  Inliner inliner(model, opsets);
  inliner.check_size(model.graph().node());
  inliner.expand(*model.mutable_graph()->mutable_node());
}

}  // namespace quench
