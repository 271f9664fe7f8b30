#include "verify/judge.h"

#include <algorithm>
#include <cmath>

#include "core/statistics.h"
#include "quench/error.h"

namespace quench {
namespace {

// How unlikely a count must be, where a share is allowed, not to be chance.
constexpr double kChance = 0.01;

class Judge {
 public:
  Judge(VerifyResult& result, const VerifyOptions& options) : result_(result), options_(options) {}

  // `name` precedes the names of the criteria, `from` follows those of the outputs.
  void outputs(const std::vector<OutputResult>& outputs, const std::string& name, const std::string& from) {
    name_ = name;
    from_ = from;
    for (const OutputResult& output : outputs) {
      if (!output.discrete) differences(output);
      beyond(output);
      if (!output.discrete && output.predictions > 0) top1(output);
    }
  }

  void quantizers() {
    const std::size_t different = result_.quantizer_differences.size();
    std::string text = concat(different, " tensors of ", result_.quantizers,
                              " quantizers and their constants are not the ", "same in the file; none may");
    if (different > 0) text += concat(": ", result_.quantizer_differences[0]);
    add({"quantizers", "the calibrated model", text, static_cast<double>(different), 0.0, "always", different == 0});
  }

  // A drop that chance alone can explain (McNemar's test, one-sided) does not count.
  void accuracy() {
    if (!result_.labelled || result_.items == 0) return;
    const double bound = result_.output_bounds.accuracy;
    const std::int64_t lost = result_.only_simulated - result_.only_deployed;
    const double drop = static_cast<double>(lost) / static_cast<double>(result_.items);
    const double p = binomial_tail(result_.only_simulated, result_.only_simulated + result_.only_deployed, 0.5);
    const bool passed = drop <= bound || p >= kChance;
    add({"accuracy", "accuracy",
         concat("falls by ", lost, " of ", result_.items, " (only the simulation is right on ", result_.only_simulated,
                ", only the runtime on ", result_.only_deployed, ", p = ", p, "); ", bound,
                " of the items may be lost, ", "more if chance can explain it"),
         drop, bound, origin(options_.accuracy_bound, "VerifyOptions::accuracy_bound"), passed});
  }

  void codes() {
    for (const TensorResult& tensor : result_.tensors) {
      result_.local.add(tensor.local);
      result_.whole.add(tensor.whole);
      (tensor.exact ? result_.local_exact : result_.local_float).add(tensor.local);
    }
    class_of_codes("codes", "codes computed from integers alone", result_.local_exact, result_.bound);
    if (result_.local_float.codes > 0)
      class_of_codes("float_codes", "codes that the runtime computes in float", result_.local_float,
                     result_.float_bound);
    integer_outputs();
    const bool failed = std::any_of(result_.criteria.begin(), result_.criteria.end(),
                                    [](const Criterion& one) { return !one.passed && one.name.ends_with("codes"); });
    if (const TensorResult* first = failed ? first_diverging([](const TensorResult&) { return true; }) : nullptr)
      result_.first_diverging = first->layer;
  }

 private:
  void add(Criterion criterion) { result_.criteria.push_back(std::move(criterion)); }

  std::string subject_of(const OutputResult& output) const { return concat("'", output.name, "'", from_); }

  std::string origin(const std::optional<double>& given, const char* option) const {
    return given ? option : options_.runtime;
  }

  void differences(const OutputResult& output) {
    const OutputBounds& bounds = result_.output_bounds;
    const auto criterion = [&](const char* name, const char* what, double difference, double bound,
                               const std::string& whose) {
      const double steps = output.steps(difference);
      add({name_ + name, subject_of(output), concat(what, " ", steps, " steps; ", bound, " is the bound"), steps, bound,
           whose, steps <= bound});
    };
    criterion("mean_difference", "is off on average by", output.mean, bounds.mean,
              origin(options_.output_mean, "VerifyOptions::output_mean"));
    criterion("largest_difference", "is off by at most", output.largest, bounds.largest,
              origin(options_.output_largest, "VerifyOptions::output_largest"));
  }

  void beyond(const OutputResult& output) {
    const OutputBounds& bounds = result_.output_bounds;
    const double share =
        output.predictions == 0 ? 0.0 : static_cast<double>(output.beyond) / static_cast<double>(output.predictions);
    const bool passed = output.beyond == 0 || binomial_tail(output.beyond, output.predictions, bounds.share) >= kChance;
    const std::string what = output.discrete ? std::string(" elements differ")
                                             : concat(" predictions are off by more than ", bounds.steps, " steps");
    add({name_ + "beyond_bound", subject_of(output),
         concat(output.beyond, " of ", output.predictions, what, "; ", bounds.share,
                " of them may, more if chance can explain it"),
         share, bounds.share, origin(options_.output_share, "VerifyOptions::output_share"), passed});
  }

  void top1(const OutputResult& output) {
    const double lead = 2 * result_.output_bounds.steps;
    add({name_ + "top1", subject_of(output),
         concat("has another top-1 in ", output.changed, " of ", output.predictions, "; in ", output.decisive,
                " of these the simulation's leads by more than ", lead,
                " steps, which differences within the bound do not explain: none may"),
         static_cast<double>(output.decisive), 0.0, origin(options_.output_bound, "VerifyOptions::output_bound"),
         output.decisive == 0});
  }

  // Where the integer network predicts every code, it predicts the outputs too, except for the rounding of the float32
  // operators after the last code: more of it where layers compute in float.
  void integer_outputs() {
    constexpr double kOfIntegers = 0.01, kOfFloatLayers = 0.1;
    const double rounding = result_.local_float.codes > 0 ? kOfFloatLayers : kOfIntegers;
    if (result_.whole.different > 0 || result_.whole.codes == 0) return;
    // Whose outputs are another kernel's than that of the codes: it fuses more while nobody reads them.
    const RuntimeEntry* runtime = RuntimeRegistry::instance().find(options_.runtime);
    if (runtime && runtime->fuses_add && result_.local_float.codes > 0) return;
    for (const OutputResult& output : result_.outputs) {
      if (output.discrete) continue;
      const double steps = output.steps(output.largest_whole);
      add({"integer_outputs", subject_of(output),
           concat("is off by at most ", steps, " steps from the integer network, which predicts every code; ", rounding,
                  " is the bound"),
           steps, rounding, "always", steps <= rounding});
    }
  }

  // A code near a tie may fall to either neighbour; more than one code apart is not rounding. A share that chance can
  // make of the bound is within it: otherwise a single code of a few thousand would be too many.
  static bool diverges(const CodeDifferences& found, double bound) {
    if (found.largest > 1) return true;
    return found.share() > bound && binomial_tail(found.different, found.codes, bound) < kChance;
  }

  void class_of_codes(const char* name, const char* subject, const CodeDifferences& found, double bound) {
    const bool passed = !diverges(found, bound);
    Criterion criterion{name,  subject, "", found.share(), bound, origin(options_.bound, "VerifyOptions::bound"),
                        passed};
    criterion.text =
        concat(found.different, " of ", found.codes, " differ from what their inputs give, at most by ", found.largest,
               "; ", bound, " of them may, each by one", bound > 0 ? ", more where chance can make it" : "");
    const bool exact = &found == &result_.local_exact;
    const auto of_class = [&](const TensorResult& tensor) { return tensor.exact == exact; };
    if (const TensorResult* first = passed ? nullptr : first_diverging(of_class)) {
      criterion.subject = concat("the first layer that diverges is ", first->layer);
      criterion.text =
          concat(first->local.different, " of ", first->local.codes, " codes, at most by ", first->local.largest,
                 ", of '", first->name, "' differ from what its inputs give; ", bound, " of them may, each by one");
    }
    add(std::move(criterion));
  }

  template <typename Wanted>
  const TensorResult* first_diverging(const Wanted& wanted) const {
    for (const TensorResult& tensor : result_.tensors)
      if (wanted(tensor) && diverges(tensor.local, tensor.exact ? result_.bound : result_.float_bound)) return &tensor;
    return nullptr;
  }

  VerifyResult& result_;
  const VerifyOptions& options_;
  std::string name_, from_;
};

}  // namespace

std::vector<std::string> VerifyResult::failures() const {
  std::vector<std::string> texts;
  for (const Criterion& criterion : criteria)
    if (!criterion.passed) texts.push_back(concat(criterion.subject, ": ", criterion.text));
  return texts;
}

void judge(VerifyResult& result, const VerifyOptions& options) {
  Judge judge(result, options);
  judge.outputs(result.outputs, "", "");
  judge.accuracy();
  if (!result.model.empty()) {
    judge.quantizers();
    judge.outputs(result.model_outputs, "model_", " from the calibrated model's");
  }
  if (result.layers) judge.codes();
}

}  // namespace quench
