// A user's settings laid over what a platform has by default.
#pragma once

#include "quench/platform.h"

namespace quench {

// Options go with the name that they were given for: naming another observer drops those of the old one.
void apply(const QuantSettings& settings, QuantizerDefaults& defaults);

// What a platform has by default, with the reference's observer under parity.
QuantizerDefaults defaults_of(const Platform& platform, Role role, bool parity);

// Activations by the range with the least error |q(x) - x|^1.5 of all values (measured: docs/results.md); under parity
// by the reference's observer.
void observe_least_error(Platform& platform, std::optional<ObserverChoice> reference = std::nullopt);

void merge(const QuantSettings& later, QuantSettings& settings);  // the same over other settings

// The first thing that was asked for and is not so: "granularity channel"; "" where all is.
std::string unmet_wish(const QuantSettings& asked, const PlanEntry& entry);

}  // namespace quench
