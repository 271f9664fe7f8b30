// quench.FakeQuant: inputs x, scale, zero point, then the algorithm's own tensors in declared order. Attributes
// algorithm, role, scheme, quantize_by, observe, quantize; all others are options of the algorithm.
#include <ATen/ATen.h>

#include <algorithm>
#include <any>
#include <memory>

#include "fake_quant/node_attributes.h"
#include "ops/shape_rules.h"
#include "quantized/spelling.h"
#include "quench/error.h"
#include "quench/op.h"
#include "quench/quantizers.h"

namespace quench {
namespace {

OptionValue option_of(const std::string& name, const Attr& attr, const Node& node) {
  if (const auto* integer = std::get_if<std::int64_t>(&attr)) return static_cast<double>(*integer);
  if (const auto* number = std::get_if<double>(&attr)) return *number;
  if (const auto* word = std::get_if<std::string>(&attr)) return *word;
  fail(node.where(), ": attribute '", name, "' must be a number or a word");
}

FakeQuantTensors state_of(const Inputs& in) {
  FakeQuantTensors tensors;
  for (std::size_t i = 1; i < in.size(); ++i) tensors.all.push_back(in[i].tensor());
  return tensors;
}

using Attrs = std::map<std::string, Attr>;

struct ParsedNode {
  Attrs attrs;
  std::shared_ptr<const FakeQuant> algorithm;
};

bool is_flag(const std::string& attribute) { return attribute == "observe" || attribute == "quantize"; }

// Except for the flags. All are numbers and words (option_of).
bool same_settings(const Attrs& one, const Attrs& other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(), [](const auto& a, const auto& b) {
    if (a.first != b.first || a.second.index() != b.second.index()) return false;
    if (is_flag(a.first)) return true;
    if (const auto* word = std::get_if<std::string>(&a.second)) return *word == std::get<std::string>(b.second);
    if (const auto* number = std::get_if<double>(&a.second)) return *number == std::get<double>(b.second);
    const auto* integer = std::get_if<std::int64_t>(&a.second);
    return integer && *integer == std::get<std::int64_t>(b.second);
  });
}

// Its attributes are parsed when they first appear or change, not on every run.
const FakeQuant& algorithm_of(const Node& node, ExecContext& context) {
  std::any& kept = context.kept(node);
  const auto* parsed = std::any_cast<ParsedNode>(&kept);
  if (!parsed || !same_settings(parsed->attrs, node.attrs))
    parsed = &kept.emplace<ParsedNode>(ParsedNode{node.attrs, make_fake_quant(fake_quant_spec(node))});
  return *parsed->algorithm;
}

std::vector<RtValue> fake_quant(const Node& node, const Inputs& in, ExecContext& context) {
  const QuantFlags flags = fake_quant_flags(node);
  if (!flags.observe && !flags.quantize) return {in[0]};
  const FakeQuant& algorithm = algorithm_of(node, context);
  const FakeQuantRun run{flags, context.observer(node), context.random_key(node), context.reconstructing};
  return {run_fake_quant(algorithm, in[0].tensor(), state_of(in), run)};
}

// Once per executor: whether what the file or the caller put there makes sense.
Inputs check_state(const Node& node, const Inputs& in) {
  for (std::size_t slot = 1; slot < node.inputs().size(); ++slot)
    QUENCH_CHECK(node.inputs()[slot] && node.inputs()[slot]->is_constant(), node.where(), ": input ", slot,
                 " must be a constant: it is the quantizer's state");
  const FakeQuantSpec spec = fake_quant_spec(node);
  const std::size_t count = params_of(spec).size();
  QUENCH_CHECK(in.size() == count + 1, node.where(), ": '", spec.algorithm, "' takes ", count + 1, " inputs, not ",
               in.size());
  check_values(spec, state_of(in));
  return Inputs(in.size());  // nothing is replaced
}

// The tensors that the algorithm learns, and the weight that it quantizes.
std::vector<int> learned_slots(const Node& node) {
  // Without the plug-in that it needs a graph can still be inspected; running it names the algorithm.
  if (!FakeQuantRegistry::instance().find(node.get_string("algorithm", "fixed"))) return {};
  const FakeQuantSpec spec = fake_quant_spec(node);
  std::vector<int> slots;
  if (spec.role != Role::kActivation) slots.push_back(0);
  const std::vector<FakeQuantParam> params = params_of(spec);
  for (std::size_t i = 0; i < params.size(); ++i)
    if (params[i].learnable) slots.push_back(static_cast<int>(i) + 1);
  return slots;
}

OpTraits fake_quant_traits() {
  OpTraits traits;
  traits.quantizes = true;
  traits.keeps_sign = true;
  traits.learned_slots = learned_slots;
  traits.state_from = 1;
  return traits;
}

}  // namespace

FakeQuantSpec fake_quant_spec(const Node& node) {
  return with_context([&] { return concat("at ", node.where()); },
                      [&] {
                        FakeQuantSpec spec;
                        spec.algorithm = node.get_string("algorithm", "fixed");
                        spec.scheme = QScheme::parse(node.get_string("scheme", ""));
                        spec.role = role_from_name(node.get_string("role", "activation"));
                        spec.by = quantize_by_from_name(node.get_string("quantize_by", "reciprocal"));
                        for (const auto& [name, attr] : node.attrs)
                          if (!is_node_attribute(name)) spec.options.set(name, option_of(name, attr, node));
                        return spec;
                      });
}

QUENCH_REGISTER_ITEM(OpEntry, kFakeQuantOp, "what quantization does to a tensor, in float, with a gradient",
                     {fake_quant, same_as_input, fake_quant_traits(), check_state})

}  // namespace quench
