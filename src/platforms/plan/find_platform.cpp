#include <algorithm>
#include <cctype>

#include "quench/error.h"
#include "quench/platform.h"

namespace quench {
namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

}  // namespace

std::string platform_name(const std::string& name_or_alias) {
  const std::string wanted = lower(name_or_alias);
  std::vector<std::string> known = PlatformRegistry::instance().names();
  for (const auto& [name, entry] : PlatformRegistry::instance().entries()) {
    if (name == wanted) return name;
    for (const std::string& alias : entry.item.aliases) {
      if (lower(alias) == wanted) return name;
      if (lower(alias) != name) known.push_back(alias);
    }
  }
  fail_unknown_name(Platform::kKind, name_or_alias, known);
}

const Platform& find_platform(const std::string& name) { return PlatformRegistry::instance().get(platform_name(name)); }

std::vector<OpChain> groups_of(const Platform& platform, const QuantConfig& config) {
  if (platform.unfused_option.empty()) return platform.groups;
  const Options options = config.platform_options.checked(platform.options, "the platform");
  return options.flag(platform.unfused_option) ? std::vector<OpChain>{} : platform.groups;
}

const std::vector<OpChain>& standard_groups() {
  static const std::vector<OpChain> groups = [] {
    std::vector<OpChain> chains;
    for (const char* head : {"Conv", "ConvTranspose", "Gemm", "MatMul"}) {
      chains.push_back({head, "BatchNormalization"});
      chains.push_back({head, "BatchNormalization", "Relu"});
      chains.push_back({head, "Relu"});
    }
    chains.push_back({"MatMul", "Add"});
    chains.push_back({"MatMul", "Add", "BatchNormalization"});
    chains.push_back({"MatMul", "Add", "BatchNormalization", "Relu"});
    chains.push_back({"MatMul", "Add", "Relu"});
    chains.push_back({"BatchNormalization", "Relu"});
    return chains;
  }();
  return groups;
}

const std::vector<std::string>& standard_weighted() {
  static const std::vector<std::string> ops = {"Conv", "ConvTranspose", "Gemm", "MatMul"};
  return ops;
}

}  // namespace quench
