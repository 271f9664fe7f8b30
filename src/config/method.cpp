// Reconstruction methods and their options, as configs name them: what a method takes is its own to say.
#include "config/parts.h"
#include "quench/ptq_method.h"

namespace quench {

MethodConfig make_method(const std::string& name, const Options& given, const Tree& place) {
  const auto place_of = [&](const char* key) -> const Tree& {
    const Tree* said = place.find(key);
    return said ? *said : place;
  };
  const PtqMethod& method =
      at_place(place_of("name"), [&]() -> const PtqMethod& { return PtqMethodRegistry::instance().get(name); });
  // First each by itself, whose place is more to the point than that of all.
  for (const auto& [option, value] : given.values())
    at_place(place_of(option.c_str()),
             [&] { return Options{{option, value}}.checked(options_of(method), concat("method '", name, "'")); });
  return at_place(place, [&] { return MethodConfig{name, checked_method_options(name, given)}; });
}

}  // namespace quench
