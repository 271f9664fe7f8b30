// Which observer a quantizer uses: kept with its node, so that a file read back can be calibrated again.
// Metadata "quench.observer" = "mse;on=batch;p=2.4".
#include <charconv>
#include <sstream>

#include "quantized/spelling.h"
#include "quench/error.h"
#include "quench/quantizers.h"

namespace quench {
namespace {

std::string number_text(double number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};  // reads back to the same bits
}

OptionValue option_of(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return number;
  return text;
}

}  // namespace

void set_observer_of(Node& fake_quant, const std::string& observer, const Options& options) {
  std::string text = observer;
  for (const auto& [name, value] : options.values()) {
    const auto* number = std::get_if<double>(&value);
    text += ";" + name + "=" + (number ? number_text(*number) : std::get<std::string>(value));
  }
  fake_quant.metadata[kObserverKey] = text;
}

bool names_observer(const Node& quantizer) { return quantizer.metadata.contains(kObserverKey); }

std::unique_ptr<Observer> observer_of(const Node& fake_quant) {
  const auto at = fake_quant.metadata.find(kObserverKey);
  QUENCH_CHECK(at != fake_quant.metadata.end(), fake_quant.where(), " names no observer: it cannot be calibrated");
  std::istringstream text(at->second);
  std::string name, option;
  std::getline(text, name, ';');
  Options options;
  while (std::getline(text, option, ';')) {
    const std::size_t equals = option.find('=');
    QUENCH_CHECK(equals != std::string::npos, fake_quant.where(), ": cannot read its observer '", at->second, "'");
    options.set(option.substr(0, equals), option_of(option.substr(equals + 1)));
  }
  return with_context([&] { return concat("at ", fake_quant.where()); },
                      [&] { return make_observer(name, fake_quant_spec(fake_quant).scheme, options); });
}

}  // namespace quench
