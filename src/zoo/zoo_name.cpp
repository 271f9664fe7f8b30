// zoo_name_of: OpenMMLab's backbones by type and the one option that tells their sizes apart.
#include "core/joined.h"
#include "quench/error.h"
#include "quench/zoo.h"

namespace quench {
namespace {

struct Family {
  std::string option, usual;                 // the value where the option is not given; "": it must be
  std::map<std::string, std::string> names;  // value -> zoo model
};

const std::map<std::string, Family>& families() {
  static const std::map<std::string, Family> all = {
      {"ResNet", {"depth", "", {{"18", "resnet18"}, {"34", "resnet34"}, {"50", "resnet50"}}}},
      {"ResNet_CIFAR", {"depth", "", {{"18", "resnet18_cifar"}, {"34", "resnet34_cifar"}, {"50", "resnet50_cifar"}}}},
      {"MobileNetV2", {"widen_factor", "1", {{"1", "mobilenet_v2"}}}},
      {"MobileNetV3", {"arch", "small", {{"small", "mobilenet_v3_small"}, {"large", "mobilenet_v3_large"}}}},
      {"ShuffleNetV2",
       {"widen_factor",
        "1",
        {{"0.5", "shufflenet_v2_x0_5"},
         {"1", "shufflenet_v2_x1_0"},
         {"1.5", "shufflenet_v2_x1_5"},
         {"2", "shufflenet_v2_x2_0"}}}},
  };
  return all;
}

std::string listed(const Family& family) {
  return joined(family.names, ", ", [](const auto& one) { return concat(one.first); });
}

}  // namespace

std::string zoo_name_of(const std::string& type, const std::map<std::string, std::string>& options) {
  const std::string last = type.substr(type.rfind('.') + 1);  // "mmcls.ResNet"
  const auto family = families().find(last);
  if (family == families().end()) {
    ZooRegistry::instance().get(last);  // throws for an unknown name, with the nearest
    return last;
  }
  const auto& [option, usual, names] = family->second;
  const auto given = options.find(option);
  std::string value = given == options.end() ? usual : given->second;
  if (value.ends_with(".0")) value.erase(value.size() - 2);
  const auto found = names.find(value);
  QUENCH_CHECK(found != names.end(), "the zoo has no ", last, " with ", option, " '", value, "'; it has ",
               listed(family->second));
  return found->second;
}

}  // namespace quench
