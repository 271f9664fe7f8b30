#include "measure/metrics/compared.h"

#include <ATen/ATen.h>

#include "quench/error.h"

namespace quench {
namespace {

bool is_float(const Options& options) {
  const std::string& to = options.word("to");
  QUENCH_CHECK(to == "target" || to == "float", "to must be target or float, not '", to, "'");
  QUENCH_CHECK(to != "float" || options.word("target").empty(),
               "to=float compares with the float network: omit target=");
  return to == "float";
}

// Axes of one element say nothing: a batch that the target's file kept, a trailing [.., 1].
bool same_but_for_ones(const at::Tensor& a, const at::Tensor& b) { return a.squeeze().sizes() == b.squeeze().sizes(); }

}  // namespace

Compared::Compared(const Options& options)
    : output_(options.word("output")), target_(options.word("target")), to_float_(is_float(options)) {}

std::vector<OptionInfo> Compared::options() {
  return {{"output", std::string(), "the output; default: the first"},
          {"to", std::string("target"), "target (of the data) or float (the same output of the float network)"},
          {"target", std::string(), "which target, where an item has several"}};
}

std::pair<at::Tensor, at::Tensor> Compared::rows(const MetricItem& item) const {
  const at::Tensor& output = item.outputs.at(output_).tensor();
  const at::Tensor& other = to_float_ ? item.reference.at(output_).tensor() : target_of(item, target_);
  QUENCH_CHECK(same_but_for_ones(output, other), "the output for item '", item.name, "' has the shape ", output.sizes(),
               ", but ", to_float_ ? "that of the float network" : "its target", " has ", other.sizes());
  return {output.to(at::kDouble).reshape(-1), other.to(at::kDouble).reshape(-1)};
}

}  // namespace quench
