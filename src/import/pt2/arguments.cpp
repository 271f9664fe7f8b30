#include "import/pt2/arguments.h"

#include <functional>
#include <nlohmann/json.hpp>

#include "import/pt2/json.h"
#include "import/pt2/symbols.h"
#include "quench/error.h"

namespace quench {
namespace {

using nlohmann::json;
using Kind = Pt2Item::Kind;

constexpr std::size_t kMaxRank = 64;
constexpr int kStrided = 7;  // torch.export's number of the layout that is not sparse

Pt2Item item_of(Kind kind, std::string text) {
  Pt2Item item;
  item.kind = kind;
  item.text = std::move(text);
  return item;
}

Pt2Item integer_item(const json& value) {
  Pt2Item item;
  item.kind = Kind::kInteger;
  item.integer = integer_of(value, "an integer");
  return item;
}

Pt2Item real_item(const json& value) {
  Pt2Item item;
  item.kind = Kind::kReal;
  item.real = real_of(value, "a number");
  return item;
}

Pt2Item flag_item(const json& value) {
  Pt2Item item;
  item.kind = Kind::kFlag;
  item.flag = flag_of(value, "a flag");
  return item;
}

Pt2Item text_item(const json& value) { return item_of(Kind::kText, text_of(value, "a string")); }
Pt2Item tensor_item(const json& value) { return item_of(Kind::kTensor, text_member(value, "name")); }
Pt2Item device_item(const json& value) { return item_of(Kind::kText, text_member(value, "type")); }
Pt2Item none_item(const json&) { return {}; }

// {"as_name": "sym_size_int_1"} or the number itself.
Pt2Item symbolic_item(const json& value) {
  const std::string tag = tag_of(value, "a symbolic number");
  const json& inner = value.begin().value();
  if (tag == "as_name") return item_of(Kind::kSymbol, text_of(inner, "the name of a symbolic number"));
  if (tag == "as_int") return integer_item(inner);
  if (tag == "as_float") return real_item(inner);
  QUENCH_CHECK(tag == "as_bool", "a symbolic number of the unknown kind '", tag, "'");
  return flag_item(inner);
}

Pt2Item optional_tensor_item(const json& value) {
  return tag_of(value, "an optional tensor") == "as_tensor" ? tensor_item(value.begin().value()) : Pt2Item();
}

struct Form {
  std::function<Pt2Item(const json&)> read;
  bool is_list = false;
};

const std::map<std::string, Form>& forms() {
  static const std::map<std::string, Form> kForms = {
      {"as_none", {none_item}},
      {"as_tensor", {tensor_item}},
      {"as_tensors", {tensor_item, true}},
      {"as_int", {integer_item}},
      {"as_ints", {integer_item, true}},
      {"as_float", {real_item}},
      {"as_floats", {real_item, true}},
      {"as_string", {text_item}},
      {"as_strings", {text_item, true}},
      {"as_sym_int", {symbolic_item}},
      {"as_sym_ints", {symbolic_item, true}},
      {"as_sym_float", {symbolic_item}},
      {"as_sym_floats", {symbolic_item, true}},
      {"as_sym_bool", {symbolic_item}},
      {"as_sym_bools", {symbolic_item, true}},
      {"as_scalar_type", {integer_item}},
      {"as_memory_format", {integer_item}},
      {"as_layout", {integer_item}},
      {"as_device", {device_item}},
      {"as_bool", {flag_item}},
      {"as_bools", {flag_item, true}},
      {"as_operator", {text_item}},
      {"as_optional_tensor", {optional_tensor_item}},
      {"as_optional_tensors", {optional_tensor_item, true}},
  };
  return kForms;
}

}  // namespace

Pt2Arg read_pt2_argument(const json& argument) {
  const std::string tag = tag_of(argument, "an argument");
  const json& value = argument.begin().value();
  const auto form = forms().find(tag);
  if (form == forms().end()) return {false, {item_of(Kind::kOther, tag)}};
  if (!form->second.is_list) return {false, {form->second.read(value)}};
  QUENCH_CHECK(value.is_array(), "an argument '", tag, "' of the program is not a list");
  Pt2Arg result{true, {}};
  for (const json& element : value) result.items.push_back(form->second.read(element));
  return result;
}

Pt2Item read_pt2_item(const json& argument) {
  Pt2Arg arg = read_pt2_argument(argument);
  if (arg.is_list) return item_of(Kind::kOther, argument.begin().key());
  return arg.items.at(0);
}

DType pt2_dtype(std::int64_t number) {
  static const std::map<std::int64_t, DType> kTypes = {{1, DType::kUint8},           {2, DType::kInt8},
                                                       {3, DType::kInt16},           {4, DType::kInt32},
                                                       {5, DType::kInt64},           {6, DType::kFloat16},
                                                       {7, DType::kFloat},           {8, DType::kDouble},
                                                       {10, DType::kComplex64},      {11, DType::kComplex128},
                                                       {12, DType::kBool},           {13, DType::kBfloat16},
                                                       {28, DType::kUint16},         {29, DType::kFloat8E4M3Fn},
                                                       {30, DType::kFloat8E5M2},     {34, DType::kUint32},
                                                       {31, DType::kFloat8E4M3Fnuz}, {32, DType::kFloat8E5M2Fnuz},
                                                       {35, DType::kUint64}};
  const auto at = kTypes.find(number);
  QUENCH_CHECK(at != kTypes.end(), "a tensor of torch.export's type number ", number, ", which is not supported");
  return at->second;
}

Pt2Symbol read_pt2_size(const json& sym_int) {
  Pt2Symbol result;
  if (tag_of(sym_int, "a size") == "as_int") {
    result.hint = integer_of(sym_int.begin().value(), "a size");
    result.dim = Dim(result.hint);
    return result;
  }
  const json& expression = object_member(sym_int, "as_expr");
  result.dim = dim_of_expression(text_member(expression, "expr_str"));
  const json* hint = find_member(expression, "hint");
  if (hint && find_member(*hint, "as_int")) result.hint = integer_member(*hint, "as_int");
  return result;
}

TypeInfo read_pt2_type(const json& tensor_meta) {
  const json* layout = find_member(tensor_meta, "layout");
  QUENCH_CHECK(!layout || integer_of(*layout, "layout") == kStrided, "sparse tensors are not supported");
  Dims dims;
  for (const json& size : array_member(tensor_meta, "sizes")) {
    dims.push_back(read_pt2_size(size).dim);
    QUENCH_CHECK(!dims.back().is_number() || dims.back().number() >= 0, "a size of ", dims.back().number());
  }
  QUENCH_CHECK(dims.size() <= kMaxRank, "a tensor of ", dims.size(), " dims; at most ", kMaxRank, " are read");
  return TypeInfo::tensor(pt2_dtype(integer_member(tensor_meta, "dtype")), dims);
}

}  // namespace quench
