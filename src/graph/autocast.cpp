#include "graph/autocast.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>

namespace quench {

struct Autocast::Before {
  at::DeviceType device;
  at::ScalarType type;
  bool enabled;
};

Autocast::Autocast(bool on, const std::string& device) {
  if (!on) return;
  const at::DeviceType kind = at::Device(device).type();
  before_ = std::make_unique<Before>(
      Before{kind, at::autocast::get_autocast_dtype(kind), at::autocast::is_autocast_enabled(kind)});
  at::autocast::set_autocast_dtype(kind, at::kBFloat16);
  at::autocast::set_autocast_enabled(kind, true);
}

Autocast::~Autocast() {
  if (!before_) return;
  at::autocast::set_autocast_dtype(before_->device, before_->type);
  at::autocast::set_autocast_enabled(before_->device, before_->enabled);
  at::autocast::clear_cache();
}

}  // namespace quench
