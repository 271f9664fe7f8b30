// Reconstruction methods and their options, as configs name them: what a method takes is its own to say.
#include "config/parts.h"
#include "quench/ptq_method.h"

namespace quench {

MethodConfig make_method(const std::string& name, const Options& given, const Tree& place) {
  return at_place(place, [&] { return MethodConfig{name, checked_method_options(name, given)}; });
}

}  // namespace quench
