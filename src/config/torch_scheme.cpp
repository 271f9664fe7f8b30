// Schemes and names as torch's relatives give them.
#include "config/parts.h"
#include "quench/platform.h"

namespace quench {

void set_torch_scheme(QuantSettings& settings, const TorchScheme& scheme, Role role, JobConfig& job) {
  settings.bits = scheme.bits;
  settings.is_signed = scheme.is_signed;
  settings.symmetric = scheme.symmetric && scheme.is_signed;
  settings.narrow = scheme.narrow;
  settings.power_of_two_scale = scheme.pot;
  settings.granularity = scheme.per_channel ? Granularity::kChannel : Granularity::kTensor;
  if (scheme.symmetric && !scheme.is_signed)
    note(job, concat("unsigned symmetric ", name_of(role),
                     "s are read as affine: a tensor that is never negative gets zero point 0 and keeps all codes; the "
                     "reference puts zero in the middle"));
  if (!scheme.per_channel || role == Role::kWeight) return;
  settings.axis = 1;
  note(job, "per-channel activations are read as one scale per channel (axis 1); the reference uses axis 0, the batch");
}

void set_platform(JobConfig& job, const Tree& place, const std::string& name) {
  job.quant.platform = at_place(place, [&] { return platform_name(name); });
}

}  // namespace quench
