#include "report/verify_text.h"

#include <sstream>

#include "quench/error.h"
#include "report/eval_text.h"
#include "report/table.h"

namespace quench {
namespace {

std::string differences(const CodeDifferences& found) {
  if (found.different == 0) return concat("0 of ", grouped(found.codes));
  return concat(grouped(found.different), " of ", grouped(found.codes), ", at most by ", found.largest);
}

std::string output_line(const OutputResult& output, bool layers) {
  const auto steps = [&](double difference) {
    return output.step > 0.0 ? concat(" (", decimals(difference / output.step, 4), " steps)") : std::string();
  };
  std::string line = concat("'", output.name, "' differs by at most ", output.largest, steps(output.largest),
                            ", on average by ", output.mean, steps(output.mean));
  if (!output.quantized) line += concat("; not quantized: a step is 1/255 of its range");
  if (layers)
    line += concat("\n              from the integer network's at most by ", output.largest_whole,
                   steps(output.largest_whole));
  return line;
}

// Only tensors that differ somewhere; all of them are in the JSON.
std::string tensor_table(const VerifyResult& result) {
  std::vector<std::vector<std::string>> rows;
  for (const TensorResult& tensor : result.tensors)
    if (tensor.local.different > 0 || tensor.whole.different > 0)
      rows.push_back({tensor.name, tensor.layer, tensor.exact ? "integers" : "float", differences(tensor.local),
                      differences(tensor.whole)});
  if (rows.empty()) return "";
  return "\n" +
         table_text({{"codes", 40}, {"made by", 40}, {"recomputed in"}, {"local", 40}, {"end to end", 40}}, rows) +
         "\n";
}

std::string share_text(double share) { return share == 0.0 ? "none" : concat(share, " of the codes, each by one"); }

void print_layers(std::ostream& out, const VerifyResult& result) {
  out << "codes         " << result.tensors.size() << " tensors; " << result.rule << " rule\n"
      << "  local       " << differences(result.local) << "\n"
      << "  end to end  " << differences(result.whole) << "\n"
      << "  allowed     local: " << share_text(result.bound);
  if (result.local_float.codes > 0)
    out << "; of the " << grouped(result.local_float.codes)
        << " that the runtime computes in float: " << share_text(result.float_bound);
  out << "\n" << tensor_table(result);
}

Json json_of(const CodeDifferences& found) {
  return {{"codes", found.codes}, {"different", found.different}, {"largest", found.largest}};
}

Json json_of(const OutputResult& output, bool layers) {
  Json object = {{"name", output.name},
                 {"step", output.step},
                 {"quantized", output.quantized},
                 {"largest", output.largest},
                 {"mean", output.mean}};
  if (layers) object["largest_from_integers"] = output.largest_whole;
  return object;
}

Json layers_json(const VerifyResult& result) {
  Json tensors = Json::array();
  for (const TensorResult& tensor : result.tensors)
    tensors.push_back({{"codes", tensor.name},
                       {"layer", tensor.layer},
                       {"integers", tensor.exact},
                       {"local", json_of(tensor.local)},
                       {"end_to_end", json_of(tensor.whole)}});
  return {{"rule", result.rule},
          {"bound", result.bound},
          {"float_bound", result.float_bound},
          {"local", json_of(result.local)},
          {"local_in_float", json_of(result.local_float)},
          {"end_to_end", json_of(result.whole)},
          {"first_diverging", result.first_diverging},
          {"tensors", tensors}};
}

}  // namespace

std::string verify_text(const VerifyResult& result) {
  std::ostringstream out;
  out << "file          " << result.file << "\nruntime       " << result.runtime << "\nitems         " << result.items
      << "\n";
  const char* head = "outputs       ";
  for (const OutputResult& output : result.outputs) {
    out << head << output_line(output, result.layers) << "\n";
    head = "              ";
  }
  if (result.predictions > 0)
    out << "equal top-1   "
        << decimals(100.0 * static_cast<double>(result.equal) / static_cast<double>(result.predictions), 2) << " %  ("
        << result.equal << " of " << result.predictions << ")\n";
  if (result.labelled)
    out << "simulated     " << accuracy_text(result.correct_simulated, result.items) << "\ndeployed      "
        << accuracy_text(result.correct_deployed, result.items) << "\n";
  if (result.layers) print_layers(out, result);
  for (const std::string& failure : result.failures) out << "FAILED        " << failure << "\n";
  if (result.passed()) out << "passed\n";
  return out.str();
}

Json json_of(const VerifyResult& result) {
  Json outputs = Json::array();
  for (const OutputResult& output : result.outputs) outputs.push_back(json_of(output, result.layers));
  Json object = {
      {"file", result.file},       {"runtime", result.runtime},           {"items", result.items},
      {"outputs", outputs},        {"output_bound", result.output_bound}, {"predictions", result.predictions},
      {"equal_top1", result.equal}};
  if (result.labelled) {
    object["correct_simulated"] = result.correct_simulated;
    object["correct_deployed"] = result.correct_deployed;
  }
  if (result.layers) object["layers"] = layers_json(result);
  object["failures"] = result.failures;
  object["passed"] = result.passed();
  return object;
}

}  // namespace quench
