// A deployed file in a real runtime as one side of compare_models: the values that quantizers of its simulation give
// are the codes that the runtime computed, dequantized.
#include <ATen/ATen.h>

#include <map>
#include <set>

#include "convert/quantized.h"
#include "quant/reference.h"
#include "quench/error.h"
#include "quench/verify.h"
#include "verify/deployed_model.h"
#include "verify/runner.h"
#include "verify/scratch_folder.h"

namespace quench {
namespace {

class RuntimeModel {
 public:
  RuntimeModel(const std::string& path, const VerifyOptions& options)
      : runner_(make_runner(options)),
        model_(read_deployed(path, RuntimeRegistry::instance().get(options.runtime))),
        file_(folder_.file("tapped.onnx")) {
    QUENCH_CHECK(!model_.own_format, "runtime '", options.runtime,
                 "' does not show its codes: 'quench verify' compares it");
    write_tapped(model_, file_);
    for (const Tap& tap : model_.taps)
      taps_[tap.quantizer] = {tap.codes, qtype_of(*model_.simulated.value(tap.quantizer).producer())};
    for (const Value* input : model_.file.inputs()) inputs_.insert(input->name());
    shown_ = inputs_;
    for (const Value* output : model_.file.outputs()) shown_.insert(output->name());
    for (const Tap& tap : model_.taps) shown_.insert(tap.quantizer);
  }

  ComparedModel compared() {
    return {model_.simulated, [this](const NamedValues& inputs, const auto& values) { return run(inputs, values); },
            shown_};
  }

 private:
  NamedValues run(const NamedValues& inputs, const std::vector<std::string>& values) {
    const NamedValues found = runner_.run(file_, inputs, folder_, inputs_);  // a batch as it is, in one piece
    NamedValues result;
    for (const std::string& name : values) result[name] = value_of(name, inputs, found);
    return result;
  }

  RtValue value_of(const std::string& name, const NamedValues& inputs, const NamedValues& found) const {
    if (const auto input = inputs.find(name); input != inputs.end()) return input->second;
    const auto tap = taps_.find(name);
    const std::string& given = tap == taps_.end() ? name : tap->second.codes;
    const auto at = found.find(given);
    QUENCH_CHECK(at != found.end(), "the runner '", runner_.description(), "' gave no '", given, "'");
    return tap == taps_.end() ? at->second : RtValue(dequantize_reference(at->second.tensor(), tap->second.type));
  }

  struct Codes {
    std::string codes;
    QType type;
  };
  Runner runner_;
  DeployedModel model_;
  ScratchFolder folder_;
  std::string file_;
  std::map<std::string, Codes> taps_;  // by the quantizer's result
  std::set<std::string> inputs_, shown_;
};

}  // namespace

ModelComparison compare_with_runtime(const Graph& a, const std::string& file, const Dataset& data,
                                     const VerifyOptions& runtime, const CompareOptions& options) {
  RuntimeModel model(file, runtime);
  return compare_models(ComparedModel{a}, model.compared(), data, options);
}

}  // namespace quench
