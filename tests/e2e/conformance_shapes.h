// Shape inference checked against runs: types are inferred from a graph's inputs alone (what the file says about
// other values is forgotten) and compared with the values of a run.
#pragma once

#include <cstdint>
#include <string>

#include "quench/executor.h"

namespace quench {

// What inference is told about the graph's inputs.
enum class Told : std::uint8_t {
  kTypes,    // what the file declares
  kShapes,   // the dims that they have in this run
  kNumbers,  // these, and the elements of those that are numbers to some operator: shapes, axes, repeats
  kSymbols,  // these elements, and a symbol of its own for every dim of the others: what is inferred must hold for all
};

constexpr std::size_t kToldCount = 4;

// Graph outputs by what is inferred about them (numbers: or products of the inputs' symbols). A sequence counts as its
// elements' type does.
struct ShapeCount {
  int numbers = 0, partly = 0, no_rank = 0;
  void add(const ShapeCount& other);
  std::string text() const;  // "12 in numbers, 3 partly, 1 of unknown rank"
};

// `values` are all values of the run, by name. Empty when every inferred type is true of them and as full as it should
// be; else one line that says what is wrong.
std::string check_inferred(const Graph& graph, Told told, const NamedValues& values, ShapeCount& count);

// Empty when what inference said of a value is true of it.
std::string compare_type(const TypeInfo& inferred, const RtValue& actual);
std::string compare_contents(const Value& value, const RtValue& actual);  // the elements of integer vectors

}  // namespace quench
