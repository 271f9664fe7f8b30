#include "quantized/node_spec.h"

#include <algorithm>
#include <memory>
#include <set>

#include "quench/error.h"
#include "quench/quantizers.h"

namespace quench {
namespace {

using Attrs = std::map<std::string, Attr>;

bool is_own_attribute(const std::string& name) {
  static const std::set<std::string> own = {"algorithm", "role",     "scheme",    "quantize_by",
                                            "observe",   "quantize", "after_relu"};
  return own.contains(name);
}

bool is_flag(const std::string& attribute) { return attribute == "observe" || attribute == "quantize"; }

OptionValue option_of(const std::string& name, const Attr& attr, const Node& node) {
  if (const auto* integer = std::get_if<std::int64_t>(&attr)) return static_cast<double>(*integer);
  if (const auto* number = std::get_if<double>(&attr)) return *number;
  if (const auto* word = std::get_if<std::string>(&attr)) return *word;
  fail(node.where(), ": attribute '", name, "' must be a number or a word");
}

FakeQuantSpec parse(const Node& node) {
  return with_context([&] { return concat("at ", node.where()); },
                      [&] {
                        FakeQuantSpec spec;
                        spec.algorithm = node.get_string("algorithm", "fixed");
                        spec.scheme = QScheme::parse(node.get_string("scheme", ""));
                        spec.role = role_from_name(node.get_string("role", "activation"));
                        spec.by = quantize_by_from_name(node.get_string("quantize_by", "reciprocal"));
                        for (const auto& [name, attr] : node.attrs)
                          if (!is_own_attribute(name)) spec.options.set(name, option_of(name, attr, node));
                        return spec;
                      });
}

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

// A node's attributes are parsed when they are first asked for and when they have changed.
struct Parsed : NodeMemo {
  Attrs attrs;
  FakeQuantSpec spec;
  std::shared_ptr<const FakeQuant> algorithm;  // null until it is needed: the plug-in may be missing
};

std::shared_ptr<const Parsed> parsed(const Node& node) {
  auto kept = std::dynamic_pointer_cast<const Parsed>(node.memo());
  if (kept && same_settings(kept->attrs, node.attrs)) return kept;
  auto fresh = std::make_shared<Parsed>();
  fresh->attrs = node.attrs;
  fresh->spec = parse(node);
  node.set_memo(fresh);
  return fresh;
}

}  // namespace

void check_option_names(const std::string& algorithm, const std::vector<OptionInfo>& options) {
  for (const OptionInfo& option : options)
    QUENCH_CHECK(!is_own_attribute(option.name), "fake quantizer '", algorithm, "' declares the option '", option.name,
                 "', which every quantizer's node has as an attribute; give it another name");
}

FakeQuantSpec fake_quant_spec(const Node& quantizer) { return parsed(quantizer)->spec; }

std::shared_ptr<const FakeQuant> fake_quant_of(const Node& quantizer) {
  const std::shared_ptr<const Parsed> kept = parsed(quantizer);
  if (kept->algorithm) return kept->algorithm;
  auto whole = std::make_shared<Parsed>(*kept);
  whole->algorithm = make_fake_quant(kept->spec);
  quantizer.set_memo(whole);
  return whole->algorithm;
}

void set_fake_quant_spec(Node& quantizer, const FakeQuantSpec& spec) {
  check_option_names(spec.algorithm, FakeQuantRegistry::instance().get(spec.algorithm).options);
  std::erase_if(quantizer.attrs, [](const auto& attr) { return !is_flag(attr.first); });
  for (const auto& [name, option] : spec.options.values()) {
    if (const auto* word = std::get_if<std::string>(&option))
      quantizer.attrs[name] = *word;
    else
      quantizer.attrs[name] = std::get<double>(option);
  }
  quantizer.attrs["algorithm"] = spec.algorithm;
  quantizer.attrs["scheme"] = spec.scheme.text();
  quantizer.attrs["role"] = std::string(name_of(spec.role));
  quantizer.attrs["quantize_by"] = std::string(name_of(spec.by));
}

// The two flags.

QuantFlags fake_quant_flags(const Node& quantizer) {
  return {quantizer.get_int("observe", 0) != 0, quantizer.get_int("quantize", 0) != 0};
}

void set_fake_quant_flags(Node& quantizer, QuantFlags flags) {
  quantizer.attrs["observe"] = std::int64_t{flags.observe};
  quantizer.attrs["quantize"] = std::int64_t{flags.quantize};
}

bool is_on(const Node& any_quantizer) { return any_quantizer.get_int("quantize", 0) != 0; }
void set_on(Node& bias_quantizer, bool on) { bias_quantizer.attrs["quantize"] = std::int64_t{on}; }

int set_state(Graph& graph, std::optional<Role> role, QuantFlags flags) {
  if (!role || *role == Role::kWeight || *role == Role::kBias)
    for (Node* node : bias_quantizers_of(graph)) set_on(*node, flags.quantize);
  int count = 0;
  for (Node* node : quantizers_of(graph)) {
    if (role && fake_quant_spec(*node).role != *role) continue;
    set_fake_quant_flags(*node, flags);
    ++count;
  }
  return count;
}

}  // namespace quench
