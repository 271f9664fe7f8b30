// Reconstruction methods and their options, as configs name them. The methods themselves are not built yet.
#include <algorithm>
#include <sstream>

#include "config/parts.h"
#include "quench/registry.h"

namespace quench {
namespace {

struct Defaults {
  const char* name;
  const char* pattern;
  double prob;
};

constexpr Defaults kMethods[] = {{"adaround", "layer", 1.0}, {"brecq", "block", 1.0}, {"qdrop", "block", 0.5}};

std::vector<OptionInfo> options_of_method(const Defaults& method) {
  return {{"pattern", method.pattern, "what is reconstructed as one: layer or block"},
          {"prob", method.prob, "probability that an input element is the quantized one"},
          {"scale_lr", 4e-5, "learning rate of the activations' scales"},
          {"warm_up", 0.2, "share of the iterations without the regulariser"},
          {"weight", 0.01, "weight of the regulariser (lambda)"},
          {"max_count", 20000.0, "iterations per unit"},
          {"b_range", "20,2", "the regulariser's exponent, from and to (beta)"},
          {"round_mode", "learned_hard_sigmoid", "how rounding learns"},
          {"keep_gpu", 1.0, "the cache lies on the device"},
          {"cache", "", "device, host or disk"},
          {"max_memory", 0.0, "gigabytes for the cache; 0: no limit"},
          {"early_stop", 0.0, "1: ends a unit whose loss no longer falls"},
          {"units", "", "names of the last layers of units that are given by hand"},
          {"exclude_node_prefix", "", "layers whose name begins like this are left out"}};
}

void check_word(const Options& options, const std::string& name, const std::vector<std::string>& choices) {
  if (std::find(choices.begin(), choices.end(), options.word(name)) == choices.end())
    fail_unknown_name(concat("value of the option '", name, "'").c_str(), options.word(name), choices);
}

void check_two_numbers(const Options& options, const std::string& name) {
  std::istringstream text(options.word(name));
  double from = 0, to = 0;
  char comma = 0;
  QUENCH_CHECK(text >> from >> comma >> to && comma == ',' && (text >> std::ws).eof(), "the option '", name,
               "' must be two numbers, [20, 2], not '", options.word(name), "'");
}

Options checked_options(const Options& given, const Defaults& method) {
  const Options options = given.checked(options_of_method(method), concat("method '", method.name, "'"));
  check_word(options, "pattern", {"layer", "block"});
  check_word(options, "round_mode", {"learned_hard_sigmoid"});
  if (!options.word("cache").empty()) check_word(options, "cache", {"device", "host", "disk"});
  check_two_numbers(options, "b_range");
  return options;
}

}  // namespace

MethodConfig make_method(const std::string& name, const Options& given, const Tree& place) {
  std::vector<std::string> names;
  for (const Defaults& method : kMethods) {
    if (name == method.name) return {name, at_place(place, [&] { return checked_options(given, method); })};
    names.emplace_back(method.name);
  }
  at_place(place, [&] { fail_unknown_name("method", name, names); });
  return {};
}

}  // namespace quench
