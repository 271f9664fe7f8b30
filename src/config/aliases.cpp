#include "config/aliases.h"

#include <algorithm>
#include <map>

#include "quench/fake_quant.h"
#include "quench/observer.h"
#include "quench/train_loop.h"

namespace quench {
namespace {

void remove(std::string& text, const std::string& part) {
  if (const std::size_t at = text.find(part); at != std::string::npos) text.erase(at, part.size());
}

// A class name reduced to what tells it from others of its kind: "MovingAveragePerChannelMinMaxObserver" ->
// "movingaverageminmax", "min_max" -> "minmax".
std::string core_of(const std::string& given, const std::string& kind) {
  std::string core;
  for (const unsigned char c : without_scope(given))
    if (c != '_') core += static_cast<char>(std::tolower(c));
  remove(core, kind);
  remove(core, "perchannel");
  return core;
}

// "" if there is none.
template <typename Item>
std::string found_name(const std::string& given, const std::string& kind,
                       const std::map<std::string, std::string>& others = {}) {
  const Registry<Item>& registry = Registry<Item>::instance();
  if (registry.find(given)) return given;
  const std::string core = core_of(given, kind);
  if (const auto at = others.find(core); at != others.end()) return at->second;
  for (const std::string& name : registry.names())
    if (core_of(name, kind) == core) return name;
  return "";
}

template <typename Item>
std::string registered_name(const std::string& given, const std::string& kind,
                            const std::map<std::string, std::string>& others = {}) {
  const std::string name = found_name<Item>(given, kind, others);
  if (name.empty()) fail_unknown_name(Item::kKind, given, Registry<Item>::instance().names());
  return name;
}

}  // namespace

std::string without_scope(const std::string& name) {
  const std::size_t at = name.find_last_of(".:");
  return at == std::string::npos ? name : name.substr(at + 1);
}

bool says_per_channel(const std::string& class_name) { return class_name.find("PerChannel") != std::string::npos; }

std::string observer_name(const std::string& given) {
  return registered_name<ObserverEntry>(given, "observer",
                                        {{"movingaverageminmax", "ema_min_max"}, {"emaminmaxfloor", "pot_mode"}});
}

Options with_class_defaults(const std::string& class_name, Options given) {
  const bool averages = core_of(class_name, "observer") == "movingaverageminmax";
  if (averages && !given.has("averaging_constant") && !given.has("ema_ratio")) given.set("averaging_constant", 0.01);
  return given;
}

std::string fake_quant_name(const std::string& given) {
  return registered_name<FakeQuantEntry>(given, "fakequantize",
                                         {{"", "fixed"}, {"fusedmovingavgobs", "fixed"}, {"learnable", "lsq"}});
}

std::string train_loop_name(const std::string& given) {
  const std::string name = without_scope(given);
  QUENCH_CHECK(name != "QATValLoop", "'", given, "' is no training loop; 'val_float: true' does what it does");
  QUENCH_CHECK(name != "PTQLoop", "'", given, "' is no training loop; 'quench quantize' does what it does");
  return registered_name<TrainLoopEntry>(given, "basedloop");
}

bool is_train_loop(const std::string& given) { return !found_name<TrainLoopEntry>(given, "basedloop").empty(); }

}  // namespace quench
