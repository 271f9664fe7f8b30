// academic_nlp: transformers with schemes of the user's own. docs/platforms.md 1 and 3.

#include "quench/platform_parts.h"

namespace quench {
namespace {

void annotate(PlanBuilder& plan) { annotate_inputs(plan, {.ops = {"MatMul", "Gemm"}}); }

Platform academic_nlp() {
  Platform platform;
  platform.aliases = {"Academic_NLP"};
  platform.weight.set_scheme(QScheme::parse("int8 symmetric tensor"));
  platform.activation.set_scheme(QScheme::parse("int8 symmetric tensor"));
  platform.groups = standard_groups();
  platform.weighted = standard_weighted();
  platform.weighted.push_back("Gather");
  platform.user_schemes = true;
  platform.product = "onnx";
  platform.annotate = annotate;
  return platform;
}

}  // namespace

QUENCH_REGISTER_PLATFORM("academic_nlp", academic_nlp,
                         "transformers in research: the user's schemes, products and linear layers, embeddings")

}  // namespace quench
