// What a target can run, for Platform::refuses.
#pragma once

#include <set>

#include "quench/platform.h"

namespace quench {

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

// For `refine`: one scale for the whole tensor, with the reason in the entry's rule.
void use_one_scale(PlanEntry& entry, const std::string& why);

// "" or what is beyond the limits: "4-bit weights (8 bits only)". Biases are limited as weights are.
std::string beyond(const PlanEntry& entry, const Limits& limits);

}  // namespace quench
