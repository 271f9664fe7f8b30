// For exporters of targets that read a model without quantizers and, beside it, a file with what the quantizers held:
// takes them out, says what was quantized and how, and makes the files.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "quench/deploy.h"
#include "quench/graph.h"
#include "quench/qtype.h"

namespace quench {

// A tensor that was quantized, under its name in the stripped model.
struct StrippedTensor {
  std::string name;
  Role role = Role::kActivation;
  QType type;
  std::string algorithm = {};  // the fake quantizer
  // Tensors of the algorithm beyond scale and zero point that are numbers (one, or one per scale), by name.
  std::map<std::string, std::vector<float>> own = {};
};

struct StrippedModel {
  // Weights are rounded to their grids (docs/numerics.md 12), int32 biases too; Pads of nothing are gone. Inputs and
  // outputs keep their names.
  Graph graph;
  std::vector<StrippedTensor> tensors;  // in order of the graph; each name is a value of it

  const StrippedTensor* find(const std::string& name) const;  // null if it was not quantized
};

StrippedModel strip_quantizers(const Graph& ready);  // of a DeployJob

// Inserts it in order; replaces another of that name.
void add_tensor(StrippedModel& model, StrippedTensor tensor);
// The inputs of Flatten, Resize and Reshape that have no range; for each the tensor downstream whose range it takes.
std::map<std::string, std::string> ranges_found_behind(const Graph& graph,
                                                       const std::function<bool(const std::string&)>& has_range);
void pass_ranges_back(StrippedModel& model);  // adds them

// The model without quantizers: N<suffix>, in the lowest opset from `first` on that works.
DeployFile model_file(const DeployJob& job, const std::string& suffix, const Graph& model, std::int64_t first = 11);
// One line "name<separator>rest" each. Names that hold white space or the separator are refused: nothing could be
// escaped.
using TextLine = std::pair<std::string, std::string>;
DeployFile text_file(const DeployJob& job, const std::string& suffix, const std::vector<TextLine>& lines,
                     const std::string& separator, const std::string& what);

// A number as JSON has it: the shortest text that reads back as the same double.
std::string number_text(double number);

// Throws unless every key is a tensor of the model: the target would silently ignore names that it does not know.
void check_tensors(const Graph& model, const std::vector<std::string>& keys);

// (n - z) s and (p - z) s of one channel, in double: exact. docs/numerics.md 12.
struct Ends {
  double min, max;
};
Ends ends_of(const QType& type, std::size_t channel = 0);

// Throws unless the tensor has one scale; "which 'tengine' cannot hold".
void check_per_tensor(const StrippedTensor& tensor, const std::string& target);
// Throws unless its zero points are 0.
void check_symmetric(const StrippedTensor& tensor, const std::string& target);

}  // namespace quench
