// parse_graph: reads what to_text writes.
#include <ATen/ATen.h>

#include <charconv>

#include "graph/text_lexer.h"
#include "graph/text_tensor.h"
#include "quench/error.h"
#include "quench/graph.h"

namespace quench {
namespace {

constexpr int kMaxDepth = 64;  // of bodies within bodies

class Parser {
 public:
  explicit Parser(const std::string& text) : lexer_(text) {}

  Graph parse() {
    Graph graph = parse_graph();
    if (lexer_.kind() != TextLexer::Kind::kEnd) lexer_.fail_here("text after the end of the graph");
    graph.verify();
    return graph;
  }

 private:
  Graph parse_graph() {
    if (++depth_ > kMaxDepth) lexer_.fail_here("graphs are nested too deeply");
    lexer_.expect("graph");
    Graph graph;
    graph.name = lexer_.take_string("the graph's name");
    lexer_.expect("{");
    while (!lexer_.accept("}")) parse_line(graph);
    --depth_;
    return graph;
  }

  void parse_line(Graph& graph) {
    if (lexer_.accept("doc")) {
      graph.doc = lexer_.take_string("the text");
    } else if (lexer_.accept("meta")) {
      parse_meta(graph.metadata);
    } else if (lexer_.accept("input")) {
      const std::string name = take_value_name();
      lexer_.expect(":");
      graph.add_input(name, parse_type());
    } else if (lexer_.at("const") || lexer_.at("param")) {
      const bool parameter = lexer_.take_word("const") == "param";
      const std::string name = take_value_name();
      lexer_.expect(":");
      const TensorAttr tensor = parse_tensor();
      graph.add_constant(name, *tensor.tensor, tensor.dtype).set_parameter(parameter);
    } else if (lexer_.accept("output")) {
      graph.add_output(find(graph, take_value_name()));
    } else {
      parse_node(graph);
    }
  }

  void parse_meta(std::map<std::string, std::string>& metadata) {
    const std::string key = lexer_.take_string("a key");
    lexer_.expect("=");
    metadata[key] = lexer_.take_string("a value");
  }

  std::string take_value_name() {
    lexer_.expect("%");
    return lexer_.kind() == TextLexer::Kind::kString ? lexer_.take_string("a name") : lexer_.take_word("a name");
  }

  Value& find(const Graph& graph, const std::string& name) {
    Value* value = graph.find_value(name);
    if (!value) lexer_.fail_here(concat("'", name, "' is used before it is made"));
    return *value;
  }

  void parse_node(Graph& graph) {
    std::vector<std::string> outputs;
    if (lexer_.at("%") || lexer_.at("_")) {
      do outputs.push_back(lexer_.accept("_") ? "" : take_value_name());
      while (lexer_.accept(","));
      lexer_.expect("=");
    }
    const std::string op = lexer_.take_word("an operator");
    const std::string name = lexer_.take_string("the node's name");
    lexer_.expect("(");
    std::vector<Value*> inputs;
    while (!lexer_.accept(")")) {
      if (!inputs.empty()) lexer_.expect(",");
      inputs.push_back(lexer_.accept("_") ? nullptr : &find(graph, take_value_name()));
    }
    Node& node = graph.add(op, name, inputs, outputs);
    if (lexer_.accept("{")) {
      while (!lexer_.accept("}")) {
        if (!node.attrs.empty()) lexer_.expect(",");
        parse_attr(node);
      }
    }
    if (lexer_.accept("captures")) node.captures = static_cast<int>(take_integer());
    node.frozen = lexer_.accept("frozen");
    while (lexer_.accept("meta")) parse_meta(node.metadata);
    parse_output_types(node);
  }

  void parse_output_types(Node& node) {
    if (!lexer_.accept(":")) return;
    for (std::size_t i = 0; i < node.outputs().size(); ++i) {
      if (i > 0) lexer_.expect(",");
      if (lexer_.accept("_")) continue;
      const TypeInfo type = parse_type();
      if (node.outputs()[i]) node.outputs()[i]->set_type(type);
    }
  }

  void parse_attr(Node& node) {
    const std::string key = lexer_.kind() == TextLexer::Kind::kString ? lexer_.take_string("a name")
                                                                      : lexer_.take_word("an attribute's name");
    lexer_.expect("=");
    node.attrs[key] = parse_attr_value();
  }

  Attr parse_attr_value() {
    if (lexer_.kind() == TextLexer::Kind::kString) return lexer_.take_string("a string");
    if (lexer_.at("graph")) return std::make_shared<Graph>(parse_graph());
    if (lexer_.accept("tensor")) return parse_tensor();
    if (lexer_.accept("type")) return parse_type();
    if (lexer_.accept("ints")) return parse_list<std::int64_t>([&] { return take_integer(); });
    if (lexer_.accept("floats")) return parse_list<double>([&] { return take_float(lexer_.take_word("a number")); });
    if (lexer_.accept("strings")) return parse_list<std::string>([&] { return lexer_.take_string("a string"); });
    if (lexer_.accept("tensors"))
      return parse_list<TensorAttr>([&] {
        lexer_.expect("tensor");
        return parse_tensor();
      });
    if (lexer_.accept("graphs")) return parse_list<GraphPtr>([&] { return std::make_shared<Graph>(parse_graph()); });
    const std::string number = lexer_.take_word("an attribute's value");
    if (number.find_first_of(".einf") != std::string::npos) return take_float(number);
    return to_integer(number);
  }

  template <typename T, typename ParseItem>
  std::vector<T> parse_list(const ParseItem& parse_item) {
    std::vector<T> items;
    lexer_.expect("[");
    while (!lexer_.accept("]")) {
      if (!items.empty()) lexer_.expect(",");
      items.push_back(parse_item());
    }
    return items;
  }

  std::int64_t to_integer(const std::string& word) {
    std::int64_t number = 0;
    const auto result = std::from_chars(word.data(), word.data() + word.size(), number);
    if (result.ec != std::errc() || result.ptr != word.data() + word.size())
      lexer_.fail_here(concat("'", word, "' is not an integer"));
    return number;
  }
  std::int64_t take_integer() { return to_integer(lexer_.take_word("an integer")); }

  double take_float(const std::string& word) {
    double number = 0;
    const auto result = std::from_chars(word.data(), word.data() + word.size(), number);
    if (result.ec != std::errc() || result.ptr != word.data() + word.size())
      lexer_.fail_here(concat("'", word, "' is not a number"));
    return number;
  }

  TypeInfo parse_type() {
    if (++depth_ > kMaxDepth) lexer_.fail_here("types are nested too deeply");
    TypeInfo type = parse_type_here();
    --depth_;
    return type;
  }

  TypeInfo parse_type_here() {
    const std::string word = lexer_.take_word("a type");
    if (word == "seq" || word == "optional") {
      lexer_.expect("(");
      TypeInfo element = lexer_.at(")") ? TypeInfo() : parse_type();
      lexer_.expect(")");
      return word == "seq" ? TypeInfo::sequence(element) : TypeInfo::optional(element);
    }
    const DType dtype = dtype_from_name(word);
    lexer_.expect("[");
    if (lexer_.accept("*")) {
      lexer_.expect("]");
      return TypeInfo::tensor(dtype);
    }
    Dims dims;
    while (!lexer_.accept("]")) {
      if (!dims.empty()) lexer_.expect(",");
      dims.push_back(parse_dim());
    }
    return TypeInfo::tensor(dtype, dims);
  }

  Dim parse_dim() {
    if (lexer_.kind() == TextLexer::Kind::kString) return Dim::symbol(lexer_.take_string("a symbol"));
    const std::string word = lexer_.take_word("a dim");
    if (word == "?") return {};
    return std::isalpha(static_cast<unsigned char>(word[0])) || word[0] == '_' ? Dim::symbol(word)
                                                                               : Dim(to_integer(word));
  }

  TensorAttr parse_tensor() {
    const TypeInfo type = parse_type();
    if (!type.dims) lexer_.fail_here("a tensor needs its dims");
    std::vector<std::int64_t> sizes;
    for (const Dim& dim : *type.dims) {
      if (!dim.is_number()) lexer_.fail_here("a tensor's dims are numbers");
      sizes.push_back(dim.number());
    }
    lexer_.expect("=");
    if (lexer_.accept("base64"))
      return make_tensor_attr(tensor_from_base64(type.dtype, sizes, lexer_.take_string("the data")), type.dtype);
    if (lexer_.kind() == TextLexer::Kind::kWord && lexer_.word()[0] == '#')
      lexer_.fail_here("this text was printed without the data of large tensors, and cannot be read back");
    lexer_.expect("{");
    std::vector<std::string> numbers;
    while (!lexer_.accept("}")) {
      if (!numbers.empty()) lexer_.expect(",");
      numbers.push_back(lexer_.take_word("a number"));
    }
    return make_tensor_attr(tensor_from_numbers(type.dtype, sizes, numbers), type.dtype);
  }

  TextLexer lexer_;
  int depth_ = 0;
};

}  // namespace

Graph parse_graph(const std::string& text) { return Parser(text).parse(); }

}  // namespace quench
