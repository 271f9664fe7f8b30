// Settings: laid over each other, and made a quantizer.
#pragma once

#include "quench/platform.h"

namespace quench {

const char* name_of(Granularity granularity);  // as in configs

// Lays settings over others. Options go with the name that they were given for: naming another observer drops those of
// the old one.
void merge(const QuantSettings& later, QuantSettings& settings);

// What a platform has by default, with the reference's observer under parity.
QuantSettings defaults_of(const Platform& platform, Role role, bool parity);

QuantizerSpec resolved(const QuantSettings& settings);  // throws where the scheme makes no sense

// The first setting that was asked for but does not hold: "granularity channel"; "" if all hold.
std::string unmet_wish(const QuantSettings& asked, const PlanEntry& entry);

}  // namespace quench
