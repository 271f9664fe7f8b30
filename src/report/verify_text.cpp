#include "report/verify_text.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "core/joined.h"
#include "quench/error.h"
#include "quench/paired_test.h"
#include "report/eval_text.h"
#include "report/table.h"

namespace quench {
namespace {

PairedTest paired_of(const VerifyResult& result) {
  PairedTest test;
  test.items = result.items;
  test.only_first = result.only_simulated;
  test.only_second = result.only_deployed;
  test.p_value = mcnemar_p_value(test.only_first, test.only_second);
  return test;
}

std::string differences(const CodeDifferences& found) {
  if (found.different == 0) return concat("0 of ", grouped(found.codes));
  return concat(grouped(found.different), " of ", grouped(found.codes), ", at most by ", found.largest);
}

// `from`: " from ...", what it is compared with; "": the simulation.
std::string output_line(const OutputResult& output, bool layers, const char* from = "") {
  const auto steps = [&](double difference) { return concat(" (", decimals(output.steps(difference), 4), " steps)"); };
  std::string line = concat("'", output.name, "' differs", from, " by at most ", output.largest, steps(output.largest),
                            ", on average by ", output.mean, steps(output.mean));
  if (output.probabilities) line += "; by its logarithm, since it comes from a Softmax";
  if (output.discrete) line += concat("; integers, ", output.changed, " of ", output.predictions, " differ");
  if (!output.discrete && output.changed > 0)
    line += concat("; another top-1 in ", output.changed, " of ", output.predictions);
  if (!output.quantized && !output.discrete) line += "; not quantized: a step is 1/255 of its range";
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

void print_layers(std::ostream& out, const VerifyResult& result) {
  out << "codes         " << result.tensors.size() << " tensors; " << result.rule << " rule\n"
      << "  local       " << differences(result.local) << "\n"
      << "  end to end  " << differences(result.whole) << "\n"
      << tensor_table(result);
}

// With the 95 % interval of what was paired, item by item.
void print_predictions(std::ostream& out, const VerifyResult& result) {
  if (result.predictions > 0) {
    const Interval equal = wilson_interval(result.equal, result.predictions);
    out << "equal top-1   "
        << decimals(100.0 * static_cast<double>(result.equal) / static_cast<double>(result.predictions), 2) << " %  ("
        << result.equal << " of " << result.predictions << "; 95 % interval " << decimals(100.0 * equal.low, 2)
        << " to " << decimals(100.0 * equal.high, 2) << " %)\n";
  }
  if (!result.labelled) return;
  const PairedTest paired = paired_of(result);
  const Interval drop = difference_interval(paired);
  out << "simulated     " << accuracy_text(result.correct_simulated, result.items) << "\ndeployed      "
      << accuracy_text(result.correct_deployed, result.items) << "\n"
      << "  paired      right in the simulation alone " << paired.only_first << ", in the runtime alone "
      << paired.only_second << "; 95 % interval of the drop " << decimals(100.0 * drop.low, 2) << " to "
      << decimals(100.0 * drop.high, 2) << " points, p = " << decimals(paired.p_value, 4) << "\n";
}

// What a criterion is about. Those beside the calibrated model are named "model_...".
std::string group_of(const Criterion& criterion) {
  if (criterion.name == "accuracy") return "accuracy";
  if (criterion.name == "quantizers" || criterion.name.starts_with("model_")) return "as the calibrated model";
  if (criterion.name.ends_with("codes") || criterion.name == "integer_outputs") return "codes, layer by layer";
  return "as simulated";
}

struct CriterionGroup {
  std::string name;
  std::vector<const Criterion*> criteria;

  bool passed() const {
    return std::all_of(criteria.begin(), criteria.end(), [](const Criterion* one) { return one->passed; });
  }
  std::string summary() const {
    std::set<std::string> bounds;
    for (const Criterion* one : criteria) bounds.insert(one->bound_of);
    return concat("ok  ", name, ": ", criteria.size(), criteria.size() == 1 ? " criterion" : " criteria",
                  " (bounds: ", joined(bounds), ")");
  }
};

std::vector<CriterionGroup> grouped_criteria(const VerifyResult& result) {
  std::vector<CriterionGroup> groups;
  for (const Criterion& criterion : result.criteria) {
    const std::string name = group_of(criterion);
    auto at =
        std::find_if(groups.begin(), groups.end(), [&](const CriterionGroup& group) { return group.name == name; });
    if (at == groups.end()) at = groups.insert(at, {name, {}});
    at->criteria.push_back(&criterion);
  }
  return groups;
}

void print_criteria(std::ostream& out, const VerifyResult& result, bool details) {
  const char* head = "judged        ";
  const auto print = [&](const std::string& line) {
    out << head << line << "\n";
    head = "              ";
  };
  for (const CriterionGroup& group : grouped_criteria(result)) {
    if (group.passed() && !details) {
      print(group.summary());
      continue;
    }
    for (const Criterion* one : group.criteria)
      print(concat(one->passed ? "ok  " : "NO  ", one->subject, ": ", one->text, " (", one->bound_of, ")"));
  }
}

Json json_of(const CodeDifferences& found) {
  return {{"codes", found.codes}, {"different", found.different}, {"largest", found.largest}};
}

Json json_of(const OutputResult& output, bool layers) {
  Json object = {{"name", output.name},
                 {"step", output.step},
                 {"quantized", output.quantized},
                 {"probabilities", output.probabilities},
                 {"largest", output.largest},
                 {"mean", output.mean},
                 {"largest_steps", output.steps(output.largest)},
                 {"mean_steps", output.steps(output.mean)},
                 {"predictions", output.predictions},
                 {"beyond", output.beyond},
                 {"changed_top1", output.changed},
                 {"decisive", output.decisive}};
  if (layers) object["largest_from_integers"] = output.largest_whole;
  return object;
}

Json json_of(const Criterion& criterion) {
  return {{"name", criterion.name},   {"subject", criterion.subject},   {"measured", criterion.measured},
          {"bound", criterion.bound}, {"bound_of", criterion.bound_of}, {"passed", criterion.passed},
          {"text", criterion.text}};
}

Json model_json(const VerifyResult& result) {
  Json outputs = Json::array();
  for (const OutputResult& output : result.model_outputs) outputs.push_back(json_of(output, false));
  return {{"file", result.model},
          {"quantizers", result.quantizers},
          {"differences", result.quantizer_differences},
          {"outputs", outputs}};
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

std::string verify_text(const VerifyResult& result, bool details) {
  std::ostringstream out;
  out << "file          " << result.file << "\nruntime       " << result.runtime << "\nitems         " << result.items
      << "\nmade from     "
      << (result.model.empty() ? "no calibrated model found beside it: not compared (VerifyOptions::model)"
                               : result.model)
      << "\n";
  for (const OutputResult& output : result.model_outputs)
    if (output.largest > 0) out << "              " << output_line(output, false, " from that model's") << "\n";
  const char* head = "outputs       ";
  for (const OutputResult& output : result.outputs) {
    out << head << output_line(output, result.layers) << "\n";
    head = "              ";
  }
  print_predictions(out, result);
  if (result.layers) print_layers(out, result);
  print_criteria(out, result, details);
  for (const std::string& failure : result.failures()) out << "FAILED        " << failure << "\n";
  if (result.passed()) out << (details ? "passed\n" : "passed (each criterion: VerifyResult::criteria)\n");
  return out.str();
}

Json json_of(const VerifyResult& result) {
  Json outputs = Json::array();
  for (const OutputResult& output : result.outputs) outputs.push_back(json_of(output, result.layers));
  Json object = {{"file", result.file}, {"runtime", result.runtime},         {"items", result.items},
                 {"outputs", outputs},  {"predictions", result.predictions}, {"equal_top1", result.equal}};
  if (!result.model.empty()) object["model"] = model_json(result);
  const Interval equal = wilson_interval(result.equal, result.predictions);
  object["equal_top1_low"] = equal.low;
  object["equal_top1_high"] = equal.high;
  if (result.labelled) {
    const PairedTest paired = paired_of(result);
    const Interval drop = difference_interval(paired);
    object["correct_simulated"] = result.correct_simulated;
    object["correct_deployed"] = result.correct_deployed;
    object["only_simulated_right"] = result.only_simulated;
    object["only_deployed_right"] = result.only_deployed;
    object["p_value"] = paired.p_value;
    object["drop_low"] = drop.low;
    object["drop_high"] = drop.high;
  }
  if (result.layers) object["layers"] = layers_json(result);
  Json criteria = Json::array();
  for (const Criterion& one : result.criteria) criteria.push_back(json_of(one));
  object["criteria"] = criteria;
  object["failures"] = result.failures();
  object["passed"] = result.passed();
  return object;
}

}  // namespace quench
