#include "deploy/forms/side_file.h"

#include <algorithm>
#include <stdexcept>

#include "deploy/onnx/lowest_opset.h"
#include "quench/error.h"

namespace quench {
namespace {

DeployFile new_text(const DeployJob& job, const std::string& suffix, const std::string& what) {
  DeployFile file;
  file.name = job.name + suffix;
  file.what = what;
  return file;
}

// Maps in maps, and nothing in any of them.
bool is_hollow(const Json& content) {
  return content.is_object() && std::all_of(content.begin(), content.end(), is_hollow);
}

void check_not_empty(const DeployFile& file, bool is_empty) {
  QUENCH_CHECK(!is_empty, "no activation is quantized: '", file.name, "' would be empty");
}

}  // namespace

DeployFile model_file(const DeployJob& job, const std::string& suffix, const Graph& model, std::int64_t first) {
  DeployFile file;
  file.name = job.name + suffix;
  file.model = model;
  file.opset = lowest_opset(file.model, first, job.opset);
  file.what = concat("the model without quantizers, weights on their grids, opset ", file.opset);
  return file;
}

DeployFile json_file(const DeployJob& job, const std::string& suffix, const Json& content, const std::string& what) {
  DeployFile file = new_text(job, suffix, what);
  check_not_empty(file, is_hollow(content));
  try {
    file.text = content.dump(4) + "\n";
  } catch (const nlohmann::json::exception&) {
    fail("'", file.name, "' cannot be written: the name of a tensor is not UTF-8");
  }
  return file;
}

DeployFile text_file(const DeployJob& job, const std::string& suffix, const std::vector<TextLine>& lines,
                     const std::string& separator, const std::string& what) {
  DeployFile file = new_text(job, suffix, what);
  check_not_empty(file, lines.empty());
  for (const auto& [name, rest] : lines) {
    const bool holds_space = std::any_of(name.begin(), name.end(), [](unsigned char c) { return c <= ' '; });
    QUENCH_CHECK(!name.empty() && !holds_space && name.find(separator) == std::string::npos, "the tensor '", name,
                 "' cannot be named in '", file.name, "', whose lines are 'name", separator,
                 "numbers': rename it in the model");
    file.text += name + separator + rest + "\n";
  }
  return file;
}

std::string number_text(double number) { return Json(number).dump(); }

void check_tensors(const Graph& model, const std::vector<std::string>& keys) {
  for (const std::string& key : keys)
    if (!model.find_value(key))
      throw std::logic_error(concat("the file of ranges mentions '", key, "', which is not a tensor of its model"));
}

void check_tensors(const Graph& model, const Json& by_tensor) {
  std::vector<std::string> keys;
  for (const auto& entry : by_tensor.items()) keys.push_back(entry.key());
  check_tensors(model, keys);
}

Ends ends_of(const QType& type, std::size_t channel) {
  QUENCH_CHECK(type.scheme.is_int(), "'", type.scheme.text(), "' has no range of integers");
  const double scale = type.params.scale.at(channel);
  const int zero = type.params.zero_point.at(channel);
  return {scale * (type.scheme.qmin() - zero), scale * (type.scheme.qmax() - zero)};
}

void check_per_tensor(const StrippedTensor& tensor, const std::string& target) {
  QUENCH_CHECK(tensor.type.scheme.per_tensor(), "'", tensor.name, "' is quantized as '", tensor.type.scheme.text(),
               "'; ", target, " takes one scale per tensor: quantize it per tensor");
}

void check_symmetric(const StrippedTensor& tensor, const std::string& target) {
  const auto& zeros = tensor.type.params.zero_point;
  QUENCH_CHECK(std::all_of(zeros.begin(), zeros.end(), [](int zero) { return zero == 0; }), "'", tensor.name,
               "' has a zero point; ", target, " takes symmetric ranges: quantize it symmetrically");
}

}  // namespace quench
