// A user's settings applied over a platform's defaults.
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

// The first setting that was asked for but does not hold: "granularity channel"; "" if all hold.
std::string unmet_wish(const QuantSettings& asked, const PlanEntry& entry);

}  // namespace quench
