#include "cli/flag_names.h"

#include <array>
#include <utility>

namespace quench {
namespace {

constexpr std::array<std::pair<const char*, const char*>, 26> kFlags = {{
    {"leave VerifyOptions::layers off", "omit --layers"},
    {"VerifyOptions::bound", "--bound"},
    {"VerifyOptions::output_bound", "--output-bound"},
    {"VerifyOptions::output_share", "--output-share"},
    {"VerifyOptions::output_largest", "--output-largest"},
    {"VerifyOptions::output_mean", "--output-mean"},
    {"VerifyOptions::accuracy_bound", "--accuracy-bound"},
    {"VerifyOptions::model", "--model FILE"},
    {"VerifyOptions::runner", "--runner CMD"},
    {"; prepare() takes it as is", "; take the float model that it was made from"},
    {"each criterion: VerifyResult::criteria", "--details shows each criterion"},
    {"ConvertOptions::multiplier_bits", "--multiplier-bits"},
    {"set ConvertOptions::requantize to half_up", "give --requantize half_up"},
    {"ImportOptions::inputs", "--input-shape"},
    {"DeployOptions::platform", "quench deploy --platform NAME"},
    {"QuantizeData::profile", "--profile 8"},
    {"TrainOptions::optimizer", "--lr"},
    {"QuantizeOptions::resume", "--resume"},
    {"load_plugin()", "--plugin FILE"},
    {"; force replaces it", "; --force replaces it"},
    {"only force replaces it", "only --force replaces it"},
    {": remove it, or give another output", ": --force discards them; or give another output"},
    {"the setting 'defaults.weight={bits: 8}'", "--bits w8a8"},
    {"the setting method.name=", "--method "},
    {"the setting ", "--set "},
    {"in 'method.name=", "in '--method "},
}};

}  // namespace

std::string in_flags(std::string text) {
  for (const auto& [name, flag] : kFlags)
    for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += std::string(flag).size())
      text.replace(at, std::string(name).size(), flag);
  return text;
}

}  // namespace quench
