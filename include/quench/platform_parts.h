// What the files of platforms are made of: common settings, what a target can run, and the families of insertion rules
// that several of them share (docs/platforms.md 3, 6 and 7). A platform's `annotate` is one of these functions, or
// calls them and adds requests of its own.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "quench/plan_builder.h"
#include "quench/platform.h"

namespace quench {

// --- settings

QuantSettings observed_by(const std::string& observer, const Options& options = {});  // and nothing else

// Activations by the range with the least error |q(x) - x|^1.5 of all values (measured: docs/results.md); under parity
// by the reference's observer.
void observe_least_error(Platform& platform, const QuantSettings& reference = {});

// Equalization and fast bias correction, if the user does not say (measured: docs/results.md); none under parity.
void correct_by_default(Platform& platform);

// --- what a target can run, for `refuses`

enum class Signs : std::uint8_t { kBoth, kSigned, kUnsigned };

struct Limits {
  std::set<int> weight_bits = {8}, activation_bits = {8};
  std::set<Format> formats = {Format::kInt};
  bool affine = true;  // zero points other than 0
  Signs weights = Signs::kBoth, activations = Signs::kBoth;
  bool lowest_code = true;      // -128 of int8; a target without it has narrow schemes only
  bool channel_weights = true;  // one scale per output channel
  bool group_weights = false;
  bool split_activations = false;  // one scale per channel or group of these too; else one per tensor
  bool any_scale = true;           // else powers of two only
};

std::set<int> up_to_bits(int most);  // 1 ... most

// "" or what is beyond the limits: "4-bit weights (8 bits only)". Biases are limited as weights are.
std::string beyond(const PlanEntry& entry, const Limits& limits);

// For `refine`: one scale for the whole tensor, with the reason in the entry's rule.
void use_one_scale(PlanEntry& entry, const std::string& why);

// --- inputs of layers (MQBench's platforms)

using OpPair = std::pair<std::string, std::string>;  // producer, consumer

// What a layer of the family reads is quantized, and for some platforms what it writes.
struct FamilyRule {
  std::set<std::string> ops;                                             // whose inputs
  std::vector<OpPair> merges = {{"Mul", "Add"}};                         // the target fuses the two: nothing between
  bool (*skips)(const PlanBuilder& plan, const Layer& layer) = nullptr;  // layers that are left out anyway
  std::set<std::string> passed = {};  // operators following a layer, after which its output is quantized
};

// Conv, ConvTranspose, Gemm and MatMul with weights, the pools, BatchNormalization, PRelu, Resize, Add, Mul. A target
// that takes more extends a copy.
const std::set<std::string>& inputs_family_ops();

void annotate_inputs(PlanBuilder& plan, const FamilyRule& rule);   // and the weights
void annotate_outputs(PlanBuilder& plan, const FamilyRule& rule);  // of the layers of the rule

// The base list, and Mul in front of Add merged.
void annotate_inputs(PlanBuilder& plan);
// The same and the outputs, after a Relu, Clip(0, 6) or Flatten where one follows: snpe, ppl, stpu.
void annotate_inputs_and_outputs(PlanBuilder& plan);

void quantize_graph_inputs(PlanBuilder& plan);  // whatever reads them

// A (consumer, producer) pair that must stay unquantized in between.
bool is_merged(const PlanBuilder& plan, const Layer& consumer, const Value& value, const std::string& producer_op,
               const std::string& consumer_op);

// "input of Conv 'conv1'" for "input of": the rule that a plan shows.
std::string rule_for(const std::string& what, const Layer& layer);

// --- explicit Q/DQ files

// standard_groups(), and Relu or Clip after any layer of these operators too: the clamp is the saturation of the
// quantizer that follows.
std::vector<OpChain> groups_with_clamps(const std::vector<std::string>& heads);

// Only moves or selects elements, so that the codes pass through: MaxPool, Reshape, Slice, Pad with zeros, nearest
// Resize ...
bool passes_codes(const PlanBuilder& plan, const Layer& layer);

// Gives what such layers write the scale of what they read, and quantizes what they read where only what they write
// was asked for.
void share_passed_codes(PlanBuilder& plan);

// For `refine`. What a MatMul reads is searched by squared error, which is what adds up in its sums: the few large
// values of a transformer's tensors must not be given up for the many small ones. Where the user named no observer.
void weigh_squares_for_products(PlanBuilder& plan);

// --- mmrazor's quantizers: every input and the output of each matched layer, then redundant quantizers are left out

struct PatternRules {
  std::set<std::string> own;     // operators whose output has a quantizer of its own
  std::set<std::string> shares;  // operators whose output shares that of the input
  bool drops_redundant = false;  // before Relu6, after MaxPool, before the graph's outputs
};

void annotate_patterns(PlanBuilder& plan, const PatternRules& rules);

// Pooling, Relu and Relu6, and what moves elements around.
const std::set<std::string>& sharing_ops();

// Groups, weights and options of all four; schemes of the one that is named after torch.
Platform pattern_platform(const std::string& activation, const std::string& weight);

// Unsigned activations with the zero point 0 would cut what lies below zero: those are affine (D10).
void mend_unsigned(PlanBuilder& plan);

std::string refuses_all_but_quint8(const PlanEntry& entry, const Node* layer);  // weights int8, activations uint8

// --- torch's eager mode

// Quantizes what layers of known kinds write. Relu, pooling and what moves elements around work on codes; all else
// stays float, and what a known layer reads from there is quantized on the way in.
void annotate_eager(PlanBuilder& plan);

// A backend of torch: uint8 or uint7 activations with a histogram, int8 weights with min_max.
Platform eager_platform(const std::string& activation, const std::string& weight);

// For `refuses`: what torch's kernels cannot run; ConvTranspose with scales per channel among it.
std::string refuses_eager(const PlanEntry& entry, const Node* layer, Signs activations);

}  // namespace quench
