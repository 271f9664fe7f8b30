// One kind of quantizer, as a user wants it.
#include <map>

#include "config/aliases.h"
#include "config/parts.h"
#include "quench/fake_quant.h"
#include "quench/observer.h"

namespace quench {
namespace {

// "channel" without a number: the operator says which axis its channels have.
bool names_axis(const std::string& scheme) {
  return scheme.find("channel:") != std::string::npos || scheme.find("group:") != std::string::npos;
}

void set_scheme(QuantSettings& settings, const Tree& tree, const std::string& path) {
  const QScheme scheme = at_place(tree, [&] { return QScheme::parse(text_of(tree, path)); });
  settings.set_scheme(scheme);
  if (names_axis(text_of(tree, path))) settings.axis = scheme.axis();
}

template <typename T, typename U>
void set(std::optional<T>& field, const std::optional<U>& given) {
  if (given) field = static_cast<T>(*given);
}

void read_scheme(MapReader& map, QuantSettings& settings) {
  static const std::map<std::string, Format> formats = {
      {"int", Format::kInt}, {"e4m3fn", Format::kE4M3Fn}, {"e5m2", Format::kE5M2}, {"log", Format::kLog}};
  static const std::map<std::string, Granularity> granularities = {
      {"tensor", Granularity::kTensor}, {"channel", Granularity::kChannel}, {"group", Granularity::kGroup}};
  if (const Tree* scheme = map.find("scheme")) set_scheme(settings, *scheme, map.path_of("scheme"));
  if (const auto format = map.choice("format", {"int", "e4m3fn", "e5m2", "log"})) settings.format = formats.at(*format);
  if (const auto granularity = map.choice("granularity", {"tensor", "channel", "group"}))
    settings.granularity = granularities.at(*granularity);
  set(settings.bits, map.integer("bits", 1));
  if (settings.bits > 16) fail_at(*map.find("bits"), "'", map.path_of("bits"), "' must be 1 to 16");
  set(settings.is_signed, map.flag("signed"));
  set(settings.symmetric, map.flag("symmetric"));
  set(settings.narrow, map.flag("narrow"));
  set(settings.power_of_two_scale, map.flag("pot"));
  set(settings.axis, map.integer("axis", -8));
  set(settings.group, map.integer("group", 1));
}

template <typename Item>
void check_options(const std::string& name, const Options& options, const Tree& place) {
  const std::string owner = concat(Item::kKind, " '", name, "'");
  at_place(place, [&] { return options.checked(Registry<Item>::instance().get(name).options, owner); });
}

}  // namespace

void set_observer(QuantSettings& settings, const Tree& place, const std::string& name, const Options& options) {
  settings.observer = at_place(place, [&] { return observer_name(name); });
  settings.observer_options = with_class_defaults(name, options);
  check_options<ObserverEntry>(*settings.observer, settings.observer_options, place);
}

void set_fake_quant(QuantSettings& settings, const Tree& place, const std::string& name, const Options& options) {
  settings.fake_quant = at_place(place, [&] { return fake_quant_name(name); });
  check_options<FakeQuantEntry>(*settings.fake_quant, options, place);
  settings.fake_quant_options = options;
}

void read_settings(MapReader map, QuantSettings& settings) {
  read_scheme(map, settings);
  const Tree* options = map.find("observer_options");
  const Options observer_options = map.options("observer_options").value_or(Options());
  if (const auto name = map.text("observer"))
    set_observer(settings, options ? *options : *map.find("observer"), *name, observer_options);
  else if (options)
    settings.observer_options = observer_options;
  options = map.find("fake_quant_options");
  const Options fake_quant_options = map.options("fake_quant_options").value_or(Options());
  if (const auto name = map.text("fake_quant"))
    set_fake_quant(settings, options ? *options : *map.find("fake_quant"), *name, fake_quant_options);
  else if (options)
    settings.fake_quant_options = fake_quant_options;
  map.finish();
}

}  // namespace quench
