// Options that need more than a number or a word to check.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "quench/options.h"

namespace quench {

// Throw for another word, or a number that lies outside.
void check_word(const Options& options, const std::string& name, const std::vector<std::string>& choices);
void check_range(const Options& options, const std::string& name, double least, double most);
void check_count(const Options& options, const std::string& name, double least, double most);  // a whole number
void check_switch(const Options& options, const std::string& name);                            // 0 or 1

// "20,2"; throws for anything else.
std::pair<double, double> two_numbers(const Options& options, const std::string& name);
// "layer1.0, layer1.1": words between commas, without the blanks around them.
std::vector<std::string> words_of(const Options& options, const std::string& name);

// The same options with other fallbacks for some.
std::vector<OptionInfo> with_fallbacks(std::vector<OptionInfo> options, const Options& others);

}  // namespace quench
