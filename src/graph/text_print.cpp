// to_text: the stable text form of a graph. docs/formats.md has the grammar; text_parse.cpp reads it.
#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>
#include <ostream>

#include "core/joined.h"
#include "graph/text_tensor.h"
#include "quench/error.h"
#include "quench/graph.h"

namespace quench {
namespace {

bool is_bare(const std::string& text, const char* extra) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || std::strchr(extra, c);
  });
}

std::string value_text(const Value* value) {
  if (!value) return "_";
  return "%" + (is_bare(value->name(), "./:-") ? value->name() : quote_text(value->name()));
}

std::string dim_text(const Dim& dim) {
  const bool bare = !dim.is_symbol() || (is_bare(dim.symbol(), "") && std::isalpha(dim.symbol()[0]));
  return bare ? dim.text() : quote_text(dim.symbol());
}

template <typename Items, typename Print>
std::string list_text(const Items& items, const Print& print) {
  return "[" + joined(items, ", ", print) + "]";
}

std::string type_text(const TypeInfo& type) {
  if (!type.is_tensor())
    return concat(type.kind == TypeInfo::Kind::kSequence ? "seq(" : "optional(",
                  type.element ? type_text(*type.element) : "", ")");
  if (!type.dims) return std::string(name_of(type.dtype)) + "[*]";
  return name_of(type.dtype) + list_text(*type.dims, dim_text);
}

class Printer {
 public:
  explicit Printer(const TextOptions& options) : options_(options) {}

  std::string graph(const Graph& graph, const std::string& indent) const {
    const std::string inner = indent + "  ";
    std::string text = "graph " + quote_text(graph.name) + " {\n";
    if (!graph.doc.empty()) text += inner + "doc " + quote_text(graph.doc) + "\n";
    for (const auto& [key, value] : graph.metadata)
      text += inner + "meta " + quote_text(key) + " = " + quote_text(value) + "\n";
    for (const Value* input : graph.inputs())
      text += inner + "input " + value_text(input) + " : " + type_text(input->type()) + "\n";
    for (const Value* value : graph.constants())
      text += inner + (value->is_parameter() ? "param " : "const ") + value_text(value) + " : " +
              tensor(value->tensor(), value->dtype()) + "\n";
    for (const auto& node : graph.nodes()) text += inner + this->node(*node, inner) + "\n";
    for (const Value* output : graph.outputs()) text += inner + "output " + value_text(output) + "\n";
    return text + indent + "}";
  }

 private:
  std::string tensor(const at::Tensor& tensor, DType dtype) const {
    const auto number = [](std::int64_t size) { return std::to_string(size); };
    return name_of(dtype) + list_text(tensor.sizes(), number) + " = " + tensor_data_text(tensor, dtype, options_.data);
  }

  std::string node(const Node& node, const std::string& indent) const {
    std::string text = joined(node.outputs(), ", ", value_text);
    if (!text.empty()) text += " = ";
    text += concat(node.op(), " ", quote_text(node.name()), " (", joined(node.inputs(), ", ", value_text), ")");
    const auto attr = [&](const auto& one) {
      return quote_if_needed(one.first) + " = " + this->attr(one.second, indent);
    };
    if (!node.attrs.empty()) text += " {" + joined(node.attrs, ", ", attr) + "}";
    if (node.captures > 0) text += " captures " + std::to_string(node.captures);
    if (node.frozen) text += " frozen";
    for (const auto& [key, value] : node.metadata) text += " meta " + quote_text(key) + " = " + quote_text(value);
    const auto type = [](const Value* output) { return output ? type_text(output->type()) : std::string("_"); };
    if (!node.outputs().empty()) text += " : " + joined(node.outputs(), ", ", type);
    return text;
  }

  static std::string quote_if_needed(const std::string& key) { return is_bare(key, ".") ? key : quote_text(key); }

  // Lists carry their element type when empty, so that reading gives the same type back.
  std::string attr(const Attr& attr, const std::string& indent) const {
    const auto print_tensor = [&](const TensorAttr& t) { return "tensor " + tensor(*t.tensor, t.dtype); };
    const auto print_graph = [&](const GraphPtr& g) { return graph(*g, indent); };
    const auto print_int = [](std::int64_t number) { return std::to_string(number); };
    struct Visitor {
      const decltype(print_tensor)& tensor;
      const decltype(print_graph)& graph;
      const decltype(print_int)& integer;
      std::string operator()(std::int64_t x) const { return integer(x); }
      std::string operator()(double x) const { return float_text(x); }
      std::string operator()(const std::string& x) const { return quote_text(x); }
      std::string operator()(const TensorAttr& x) const { return tensor(x); }
      std::string operator()(const GraphPtr& x) const { return graph(x); }
      std::string operator()(const TypeInfo& x) const { return "type " + type_text(x); }
      std::string operator()(const std::vector<std::int64_t>& x) const { return "ints" + list_text(x, integer); }
      std::string operator()(const std::vector<double>& x) const { return "floats" + list_text(x, float_text); }
      std::string operator()(const std::vector<std::string>& x) const { return "strings" + list_text(x, quote_text); }
      std::string operator()(const std::vector<TensorAttr>& x) const { return "tensors" + list_text(x, tensor); }
      std::string operator()(const std::vector<GraphPtr>& x) const { return "graphs" + list_text(x, graph); }
    };
    return std::visit(Visitor{print_tensor, print_graph, print_int}, attr);
  }

  TextOptions options_;
};

}  // namespace

std::string to_text(const Graph& graph, const TextOptions& options) { return Printer(options).graph(graph, "") + "\n"; }

std::ostream& operator<<(std::ostream& out, const Graph& graph) { return out << to_text(graph, {.data = false}); }

}  // namespace quench
