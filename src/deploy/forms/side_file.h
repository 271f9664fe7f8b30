// What exporters with a file of ranges beside the model share.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "deploy/forms/strip.h"
#include "quench/deploy.h"

namespace quench {

using Json = nlohmann::ordered_json;

// The model without quantizers: N<suffix>, in the lowest opset from `first` on that works.
DeployFile model_file(const DeployJob& job, const std::string& suffix, const Graph& model, std::int64_t first = 11);
// Names are escaped; a number reads back as the double that it was.
DeployFile json_file(const DeployJob& job, const std::string& suffix, const Json& content, const std::string& what);
// One line "name<separator>rest" each. Names that hold white space or the separator are refused: nothing could be
// escaped.
using TextLine = std::pair<std::string, std::string>;
DeployFile text_file(const DeployJob& job, const std::string& suffix, const std::vector<TextLine>& lines,
                     const std::string& separator, const std::string& what);

// A number as JSON has it: the shortest text that reads back as the same double.
std::string number_text(double number);

// Throws unless every key is a tensor of the model: the target would silently ignore names that it does not know.
void check_tensors(const Graph& model, const std::vector<std::string>& keys);
void check_tensors(const Graph& model, const Json& by_tensor);  // its keys

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
