// `quantize.reconstruction` of MQBench's classification example, and what `quench.method` says beside it.
#include <algorithm>
#include <array>

#include "config/merge.h"
#include "config/mqbench.h"
#include "core/joined.h"
#include "quench/ptq_method.h"

namespace quench {
namespace {

// By these the methods differ: prob makes brecq qdrop, and round_mode makes blockwise qdrop again.
constexpr std::array kNameTheMethod = {"pattern", "prob", "round_mode"};

// Whether the scales of activations are parameters there; unknown where no fake quantizer is named.
std::optional<bool> scales_may_learn(const JobConfig& job) {
  const std::optional<std::string>& named = job.quant.activation.fake_quant;
  return named ? std::optional(*named != "fixed") : std::nullopt;
}

// MQBench's own files name no method: it follows from what is reconstructed, from the share that is dropped, and from
// whether scales learn, which AdaRound leaves alone.
std::string method_name(const Options& given, const JobConfig& job) {
  const auto& values = given.values();
  const auto prob = values.find("prob");
  const auto pattern = values.find("pattern");
  const bool drops = prob != values.end() && prob->second != OptionValue(1.0);
  const bool blocks = pattern != values.end() && pattern->second == OptionValue("block");
  if (drops) return "qdrop";
  const bool scales_learn = values.contains("scale_lr") && scales_may_learn(job).value_or(false);
  return blocks || scales_learn ? "brecq" : "adaround";
}

// Whether another method than the layout's takes this option from it.
bool keeps(const PtqMethod& method, const std::string& option, const Tree& value) {
  const std::vector<OptionInfo> known = options_of(method);
  const auto found = std::find_if(known.begin(), known.end(), [&](const auto& one) { return one.name == option; });
  if (found == known.end()) return false;
  const bool names_it = std::find(kNameTheMethod.begin(), kNameTheMethod.end(), option) != kNameTheMethod.end();
  return !names_it || option_of(value, option) == found->fallback;
}

// What the other method leaves of the layout's options; the job gets a note of the rest.
Tree kept_by(const PtqMethod& method, const std::string& name, const Tree& reconstruction, JobConfig& job) {
  Tree kept = reconstruction;
  std::vector<std::string> dropped;
  for (const auto& [option, value] : reconstruction.entries)
    if (!value.is_null() && !keeps(method, option, value)) dropped.push_back(option);
  for (const std::string& option : dropped) kept.erase(option);
  if (!dropped.empty())
    note(job, concat("'quantize.reconstruction' is for ", job.method.name, ", and the method is ", name, ": ",
                     joined_in_quotes(dropped), dropped.size() == 1 ? " there has" : " there have", " no effect"));
  return kept;
}

// MQBench hands the scales of activations to an optimizer if they are parameters and if it is told a rate, and leaves
// them alone otherwise.
Tree with_scale_rate(Tree reconstruction, const std::string& method, const JobConfig& job) {
  const bool learn = reconstruction.find("scale_lr") && scales_may_learn(job).value_or(true);
  if (method != "adaround" && !learn) apply_override(reconstruction, "scale_lr=0");
  return reconstruction;
}

}  // namespace

void read_reconstruction(MapReader& map, bool wanted, JobConfig& job) {
  const Tree* tree = map.find("reconstruction");
  if (wanted && !tree) fail_at(map.tree(), "'quantize_type: advanced_ptq' needs '", map.path_of("reconstruction"), "'");
  if (!tree) return;
  const std::string name = method_name(options_of(*tree, map.path_of("reconstruction")), job);
  const Tree full = with_scale_rate(*tree, name, job);
  const MethodConfig method = make_method(name, options_of(full, map.path_of("reconstruction")), full);
  if (wanted) {
    job.method = method;
    if (name != "adaround" && tree->find("scale_lr") && !scales_may_learn(job).value_or(true))
      note(job, "'scale_lr' has no effect with FixedFakeQuantize, whose scales do not learn");
  } else {
    note(job, "'quantize.reconstruction' has no effect with 'quantize_type: naive_ptq'");
  }
}

Tree with_reconstruction(Tree own, const Tree& layout, JobConfig& job) {
  Tree* said = own.is_map() ? own.find("method") : nullptr;
  if (said && said->is_null()) job.method = {};  // none after all
  if (job.method.name.empty() || !said || !said->is_map()) return own;
  Tree both = *layout.find("quantize")->find("reconstruction");
  const Tree* name = said->find("name");
  if (!name || name->is_null() || name->text == job.method.name) {
    both = with_scale_rate(std::move(both), job.method.name, job);
    apply_override(both, "name=" + job.method.name);
    said->erase("name");
  } else {
    const PtqMethod& other =
        at_place(*name, [&]() -> const PtqMethod& { return PtqMethodRegistry::instance().get(name->text); });
    both = kept_by(other, name->text, both, job);
  }
  merge(both, std::move(*said));
  *said = std::move(both);
  return own;
}

}  // namespace quench
