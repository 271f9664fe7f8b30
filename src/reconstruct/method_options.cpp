#include "reconstruct/method_options.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "quench/error.h"
#include "quench/ptq_method.h"

namespace quench {

void check_word(const Options& options, const std::string& name, const std::vector<std::string>& choices) {
  if (std::find(choices.begin(), choices.end(), options.word(name)) != choices.end()) return;
  std::vector<std::string> said = choices;
  std::erase(said, "");
  fail_unknown_name(concat("value of the option '", name, "'").c_str(), options.word(name), said);
}

void check_range(const Options& options, const std::string& name, double least, double most) {
  const double number = options.number(name);
  QUENCH_CHECK(number >= least && number <= most, "the option '", name, "' must lie between ", least, " and ", most,
               ", not ", number);
}

void check_count(const Options& options, const std::string& name, double least, double most) {
  check_range(options, name, least, most);
  const double number = options.number(name);
  QUENCH_CHECK(number == std::floor(number), "the option '", name, "' must be a whole number, not ", number);
}

void check_switch(const Options& options, const std::string& name) {
  const double number = options.number(name);
  QUENCH_CHECK(number == 0 || number == 1, "the option '", name, "' must be 0 or 1, not ", number);
}

std::pair<double, double> two_numbers(const Options& options, const std::string& name) {
  std::istringstream text(options.word(name));
  double from = 0, to = 0;
  char comma = 0;
  QUENCH_CHECK(text >> from >> comma >> to && comma == ',' && (text >> std::ws).eof(), "the option '", name,
               "' must be two numbers, such as 20,2, not '", options.word(name), "'");
  return {from, to};
}

std::vector<std::string> words_of(const Options& options, const std::string& name) {
  std::vector<std::string> words;
  std::istringstream text(options.word(name));
  for (std::string word; std::getline(text, word, ',');) {
    const std::size_t begin = word.find_first_not_of(' '), end = word.find_last_not_of(' ');
    if (begin != std::string::npos) words.push_back(word.substr(begin, end - begin + 1));
  }
  return words;
}

std::vector<OptionInfo> with_fallbacks(std::vector<OptionInfo> options, const Options& others) {
  for (const auto& [name, value] : others.values()) {
    const auto found =
        std::find_if(options.begin(), options.end(), [&](const OptionInfo& one) { return one.name == name; });
    QUENCH_CHECK(found != options.end() && found->fallback.index() == value.index(), "no such option: '", name, "'");
    found->fallback = value;
  }
  return options;
}

std::vector<OptionInfo> options_of(const PtqMethod& method) {
  std::vector<OptionInfo> options = {
      {"pattern", method.pattern, "what is reconstructed as one unit: layer or block (docs/numerics.md 15.1)"},
      {"units", "", "names of units, or of layers that end one, instead of a pattern"},
      {"exclude_node_prefix", "", "layers whose names begin like this learn nothing; several with commas"},
      {"batch", 32.0, "items per step; the methods here run a model that fixes a smaller batch several times per step"},
      {"max_memory", 0.0, "gigabytes of memory for caches, the rest goes to files; 0: no limit"},
      {"bf16", 0.0, "1: convolutions and products of steps in bfloat16"},
      {"half", 0.0, "1: caches hold bfloat16"},
      {"cache", "", "where caches are kept: device, host or disk"},
      {"keep_gpu", 1.0, "0: caches are kept in host memory (MQBench's name for cache: host)"}};
  options.insert(options.end(), method.options.begin(), method.options.end());
  return options;
}

Options checked_method_options(const std::string& method, const Options& given) {
  const PtqMethod& entry = PtqMethodRegistry::instance().get(method);
  const Options options = given.checked(options_of(entry), concat("method '", method, "'"));
  check_word(options, "pattern", {"layer", "block"});
  check_word(options, "cache", {"", "device", "host", "disk"});
  check_count(options, "batch", 1, 1 << 20);
  for (const char* name : {"bf16", "half", "keep_gpu"}) check_switch(options, name);
  for (const char* name : {"units", "exclude_node_prefix"})
    QUENCH_CHECK(options.word(name).empty() || !words_of(options, name).empty(), "the option '", name,
                 "' names no layer: '", options.word(name), "'");
  check_range(options, "max_memory", 0, 1e6);
  if (entry.check) entry.check(options);
  return options;
}

std::vector<std::string> idle_method_options(const std::string& method, const Options& options) {
  const PtqMethod& entry = PtqMethodRegistry::instance().get(method);
  std::vector<std::string> idle = entry.idle ? entry.idle(options) : std::vector<std::string>{};
  if (!words_of(options, "units").empty()) idle.emplace_back("pattern");
  const std::vector<OptionInfo> known = options_of(entry);
  std::erase_if(idle, [&](const std::string& name) {
    return std::any_of(known.begin(), known.end(), [&](const OptionInfo& one) {
      return one.name == name && one.fallback == options.values().at(name);
    });
  });
  return idle;
}

}  // namespace quench
