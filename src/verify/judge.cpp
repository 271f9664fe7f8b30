#include "verify/judge.h"

#include "quench/error.h"

namespace quench {
namespace {

double bound_of(const VerifyResult& result, const TensorResult& tensor) {
  return tensor.exact ? result.bound : result.float_bound;
}

// A code that lies near a tie may fall to either neighbour; more than one code apart is no rounding.
bool diverges(const CodeDifferences& found, double bound) { return found.share() > bound || found.largest > 1; }

std::string counts(const CodeDifferences& found) {
  return concat(found.different, " of ", found.codes, " codes, at most by ", found.largest);
}

void judge_codes(VerifyResult& result) {
  for (const TensorResult& tensor : result.tensors) {
    result.local.add(tensor.local);
    result.whole.add(tensor.whole);
    (tensor.exact ? result.local_exact : result.local_float).add(tensor.local);
  }
  const bool failed = diverges(result.local_exact, result.bound) || diverges(result.local_float, result.float_bound);
  if (!failed) return;
  for (const TensorResult& tensor : result.tensors) {
    if (!diverges(tensor.local, bound_of(result, tensor))) continue;
    result.first_diverging = tensor.layer;
    result.failures.push_back(concat("the first layer that diverges is ", tensor.layer, ": ", counts(tensor.local),
                                     " of '", tensor.name, "' differ from what its inputs give"));
    return;
  }
}

void judge_outputs(VerifyResult& result) {
  for (const OutputResult& output : result.outputs) {
    const double steps = output.step > 0.0 ? output.mean / output.step : (output.mean > 0.0 ? 1e30 : 0.0);
    if (steps > result.output_bound)
      result.failures.push_back(concat("the output '", output.name, "' is off by ", steps, " steps on average; ",
                                       result.output_bound, " is the bound"));
  }
}

}  // namespace

void judge(VerifyResult& result) {
  judge_outputs(result);
  if (result.layers) judge_codes(result);
}

}  // namespace quench
