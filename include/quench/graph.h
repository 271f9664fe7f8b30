// Graph, Node, Value: the one intermediate form, ONNX-shaped. Op kinds are ONNX operator names in the
// semantics of opset 21; "domain.Op" for other domains ("com.microsoft.Gelu"). No LibTorch header is
// needed to move nodes about.
//
// Subgraphs (If, Loop, Scan) are Attrs. What a body takes from the graph around it is explicit: the
// captured values are further inputs of the node, after its own ones, and further inputs of each body,
// in the same order; Node::captures counts them. So uses, lifetimes and gradients need no special case.
#pragma once

#include <atomic>
#include <cstdint>
#include <iosfwd>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "quench/type_info.h"

namespace at {
class Tensor;
}

namespace quench {

class Graph;
class Node;

// Integers, floats, strings, tensors, graphs, types and lists of them. Tensors are shared, never
// written in place by a pass.
struct TensorAttr {
  std::shared_ptr<const at::Tensor> tensor;
  DType dtype = DType::kUndefined;
};
using GraphPtr = std::shared_ptr<Graph>;
using Attr =
    std::variant<std::int64_t, double, std::string, TensorAttr, GraphPtr, TypeInfo, std::vector<std::int64_t>,
                 std::vector<double>, std::vector<std::string>, std::vector<TensorAttr>, std::vector<GraphPtr>>;

TensorAttr make_tensor_attr(const at::Tensor& tensor);               // the dtype that the tensor has
TensorAttr make_tensor_attr(const at::Tensor& tensor, DType dtype);  // int4 in an int8 tensor ...

// One tensor of the graph: an input, a constant (weights, shapes), or an output of a node.
class Value {
 public:
  struct Use {
    Node* node;
    int slot;
    bool operator==(const Use&) const = default;
  };

  const std::string& name() const { return name_; }  // unique in the graph
  const TypeInfo& type() const { return type_; }
  void set_type(TypeInfo type) { type_ = std::move(type); }
  DType dtype() const { return type_.dtype; }
  bool has_rank() const { return type_.is_tensor() && type_.dims.has_value(); }
  const Dims& dims() const;  // throws when the rank is not known
  int rank() const { return static_cast<int>(dims().size()); }

  Node* producer() const { return producer_; }  // null for inputs and constants
  int output_index() const { return output_index_; }
  bool is_input() const { return is_input_; }
  bool is_constant() const { return tensor_ != nullptr; }
  const at::Tensor& tensor() const;                       // of a constant; throws for others
  const std::vector<Use>& uses() const { return uses_; }  // one entry per use; graph outputs not counted
  bool is_graph_output() const { return graph_outputs_ > 0; }

  // Parameters are the constants that training changes. Their tensor is shared with whoever owns it.
  bool is_parameter() const { return is_parameter_; }
  void set_parameter(bool parameter) { is_parameter_ = parameter; }

  // What shape inference knows about the elements of a small integer tensor (rank 0 or 1), such as the
  // output of Shape: [N, 3, 32*W]. Absent when nothing is known.
  std::optional<Dims> contents;

 private:
  friend class Graph;  // only a Graph makes, links or erases
  std::string name_;
  TypeInfo type_;
  Node* producer_ = nullptr;
  int output_index_ = 0;
  bool is_input_ = false;
  bool is_parameter_ = false;
  int graph_outputs_ = 0;
  std::shared_ptr<const at::Tensor> tensor_;
  std::vector<Use> uses_;
};

// What an operator made of a node's attributes, so that they are parsed once. Its reader checks whether the attributes
// are still the same; copies of the node share it.
struct NodeMemo {
  virtual ~NodeMemo() = default;
};

class Node {
 public:
  const std::string& name() const { return name_; }
  const std::string& op() const { return op_; }                    // key of the operator registry
  const std::vector<Value*>& inputs() const { return inputs_; }    // null where an optional input is absent
  const std::vector<Value*>& outputs() const { return outputs_; }  // null where an optional output is not wanted
  Value* input(int slot) const;                                    // null when absent or past the end
  Value& output(int index = 0) const;                              // throws when it is not wanted

  std::map<std::string, Attr> attrs;
  std::map<std::string, std::string> metadata;  // ONNX's metadata_props of the node
  int captures = 0;                             // how many of the inputs, at the end, are captured by bodies
  bool frozen = false;                          // BatchNormalization, Dropout: evaluate even when training

  bool has(const std::string& attr) const { return attrs.contains(attr); }
  // Typed access; the default is returned when absent; a wrong type throws and names node and attribute.
  std::int64_t get_int(const std::string& attr, std::int64_t fallback) const;
  double get_float(const std::string& attr, double fallback) const;
  std::string get_string(const std::string& attr, const std::string& fallback) const;
  std::vector<std::int64_t> get_ints(const std::string& attr, std::vector<std::int64_t> fallback) const;
  std::vector<double> get_floats(const std::string& attr, std::vector<double> fallback) const;
  std::vector<std::string> get_strings(const std::string& attr, std::vector<std::string> fallback) const;
  // Without a default: throw when absent.
  std::int64_t require_int(const std::string& attr) const;
  std::vector<std::int64_t> require_ints(const std::string& attr) const;
  const TensorAttr& require_tensor(const std::string& attr) const;
  const Graph& require_graph(const std::string& attr) const;

  std::string where() const;  // "node 'conv1' (Conv)", for messages

  std::shared_ptr<const NodeMemo> memo() const { return memo_.load(); }
  void set_memo(std::shared_ptr<const NodeMemo> memo) const { memo_.store(std::move(memo)); }

 private:
  friend class Graph;
  std::string name_;
  std::string op_;
  std::vector<Value*> inputs_;
  std::vector<Value*> outputs_;
  std::list<std::unique_ptr<Node>>::iterator position_;
  mutable std::atomic<std::shared_ptr<const NodeMemo>> memo_;  // graphs are run by several threads at once
};

// Where a graph came from; shown by `quench inspect`, not part of what the graph is.
struct GraphSource {
  std::string format;  // "onnx", "module"
  std::string path;
  std::string producer;
  std::int64_t ir_version = 0;
  std::map<std::string, std::int64_t> opsets;
};

// Invariants, checked by verify(): topological order, unique names, producers and uses agree, every op
// is registered, every constant has a tensor of its type, bodies fit their nodes.
class Graph {
 public:
  Graph();
  ~Graph();
  Graph(const Graph& other);  // new nodes and values; tensors are shared
  Graph& operator=(const Graph& other);
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;
  Graph clone() const;  // tensors are copied too

  std::string name;
  std::string doc;
  std::map<std::string, std::string> metadata;  // ONNX's metadata_props of the model
  GraphSource source;

  const std::list<std::unique_ptr<Node>>& nodes() const { return nodes_; }  // in topological order
  const std::vector<Value*>& inputs() const { return inputs_; }
  const std::vector<Value*>& outputs() const { return outputs_; }
  std::vector<Value*> constants() const;   // in order of name
  std::vector<Value*> parameters() const;  // the constants flagged as parameters, in order of name
  std::vector<Value*> values() const;      // all, in order of name

  Value* find_value(const std::string& name) const;  // null when there is none
  Node* find_node(const std::string& name) const;
  Value& value(const std::string& name) const;             // throws, with the nearest name
  std::string unique_name(const std::string& base) const;  // base, base_1, base_2 ...: free as a value name

  Value& add_input(const std::string& name, TypeInfo type = {});
  Value& add_constant(const std::string& name, const at::Tensor& tensor);               // dtype of the tensor
  Value& add_constant(const std::string& name, const at::Tensor& tensor, DType dtype);  // int4 in int8 ...
  // Appends a node with `outputs` fresh values named after it (name, name:1, ...), or with these names
  // ("" for an output that is not wanted).
  Node& add(const std::string& op, const std::string& name, const std::vector<Value*>& inputs, int outputs = 1);
  Node& add(const std::string& op, const std::string& name, const std::vector<Value*>& inputs,
            const std::vector<std::string>& output_names);
  // The same, placed right before or after `at` instead of at the end.
  Node& insert_before(Node& at, const std::string& op, const std::string& name, const std::vector<Value*>& inputs,
                      int outputs = 1);
  Node& insert_after(Node& at, const std::string& op, const std::string& name, const std::vector<Value*>& inputs,
                     int outputs = 1);

  void set_input(Node& node, int slot, Value* value);  // slot may be one past the end
  void set_inputs(Node& node, const std::vector<Value*>& inputs);
  void set_op(Node& node, const std::string& op);
  Value* add_node_output(Node& node, const std::string& name);  // null for the name ""
  void drop_last_output(Node& node);                            // throws if it is used
  void replace_uses(Value& from, Value& to);  // graph outputs included; `to`'s own producer keeps `from`
  void add_output(Value& value);
  void set_output(int index, Value& value);
  void clear_outputs();
  void set_tensor(Value& constant, const at::Tensor& tensor);  // keeps the name and the uses
  void set_tensor(Value& constant, const at::Tensor& tensor, DType dtype);
  void rename(Value& value, const std::string& name);
  void erase(Node& node);    // throws if an output is used, and names the users
  void erase(Value& value);  // of an unused input or constant
  void move_before(Node& node, Node& at);

  void sort();          // into topological order, stably; throws on a cycle and names its nodes
  void verify() const;  // throws at the first broken invariant

  // Another number whenever nodes, links, names or constants have changed (attributes do not count), and in every copy:
  // an executor of an earlier one must be made anew.
  std::uint64_t revision() const { return revision_; }

 private:
  Value& add_value(const std::string& name);
  Node& place(std::list<std::unique_ptr<Node>>::iterator at, const std::string& op, const std::string& name,
              const std::vector<Value*>& inputs, const std::vector<std::string>& output_names);
  std::vector<std::string> default_output_names(const std::string& name, int count) const;
  void unlink(Value* value, Node& node, int slot);
  void copy_from(const Graph& other, bool copy_tensors);
  void changed();

  std::list<std::unique_ptr<Node>> nodes_;
  std::unordered_map<std::string, std::unique_ptr<Value>> values_;
  std::unordered_map<std::string, Node*> nodes_by_name_;
  std::vector<Value*> inputs_;
  std::vector<Value*> outputs_;
  std::uint64_t revision_ = 0;
};

// The stable text form (docs/formats.md). Small tensors are written as numbers; larger ones as base64
// with `data`, else as a shape and a checksum, which parse_graph refuses.
struct TextOptions {
  bool data = true;
};
std::string to_text(const Graph& graph, const TextOptions& options = {});
Graph parse_graph(const std::string& text);                       // throws with line and column
std::ostream& operator<<(std::ostream& out, const Graph& graph);  // without data: for dumps and tests

}  // namespace quench
