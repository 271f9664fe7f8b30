// The program of a torch.export archive: models/NAME.json as plain structs, nothing resolved yet. The
// types of the file are those of torch/csrc/utils/generated_serialization_types.h, schema 8.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "quench/type_info.h"

namespace quench {

struct Pt2Program;

// One element of an argument.
struct Pt2Item {
  enum class Kind : std::uint8_t { kNone, kFlag, kInteger, kReal, kText, kTensor, kSymbol, kGraph, kOther };
  Kind kind = Kind::kNone;
  std::int64_t integer = 0;
  double real = 0.0;
  bool flag = false;
  std::string text;  // the string; the name of a tensor, a symbolic number or a graph; the tag of kOther
  std::shared_ptr<const Pt2Program> graph;  // of kGraph: the body of a branch or loop; null if a call only wraps it
};

struct Pt2Arg {
  bool is_list = false;
  std::vector<Pt2Item> items;  // one, or the elements of a list
};

struct Pt2Node {
  std::string target;  // "torch.ops.aten.conv2d.default"
  std::string name;
  std::string modules;  // nn_module_stack
  std::vector<std::pair<std::string, Pt2Arg>> inputs;
  std::vector<Pt2Arg> outputs;
  bool is_condition = false;  // gives a truth about sizes (as_sym_bool)
};

struct Pt2Symbol {
  Dim dim;  // unknown where a Dim cannot write it
  std::int64_t hint = 0;
};

struct Pt2Input {
  enum class Kind : std::uint8_t { kUser, kParameter, kBuffer, kConstant, kIgnored };
  Kind kind = Kind::kUser;
  Pt2Item arg;
  std::string name;        // of a parameter, buffer or constant, fully qualified
  bool persistent = true;  // of a buffer: among the weights, else among the constants
};

struct Pt2Program {
  std::string torch_version;
  std::vector<Pt2Node> nodes;
  std::map<std::string, TypeInfo> tensors;
  std::map<std::string, Pt2Symbol> symbols;
  std::vector<Pt2Input> inputs;
  std::vector<Pt2Item> outputs;  // those that the user gets
};

Pt2Program read_pt2_program(const std::string& text, const std::string& what);

}  // namespace quench
