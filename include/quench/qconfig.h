// QConfig: how a module is to be quantized, in PyTorch's terms, and which modules it applies to. Plain values;
// quench/eager.h has the verbs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "quench/quant_config.h"

namespace quench {

struct QConfig {
  std::string backend;       // the platform; that of the whole model counts
  QuantSettings activation;  // of what the module writes
  QuantSettings weight;
};

// torch's presets ("fbgemm", "x86", "qnnpack", "onednn", "qnnpack_symmetric"), or any platform that has defaults: all
// that the platform would do by itself, to be changed as you like. They are recipes: no engine of that name is needed.
QConfig get_default_qconfig(const std::string& backend = "x86");

// The same for training: ranges are moving averages of each batch's (a hundredth of the new one), of weights too.
QConfig get_default_qat_qconfig(const std::string& backend = "x86");

// A submodule, as far as these rules need to know it.
struct ModuleInfo {
  std::string name;          // "" for the outermost
  std::string type;          // "Conv2d"
  bool has_tensors = false;  // parameters or buffers of its own
  bool training = false;
};

// Which modules have a QConfig of their own, or none: those stay float. A name covers what is inside the module. As in
// torch the more exact wins: all < type < regex < name; among equals the later.
class QConfigMapping {
 public:
  enum class By : std::uint8_t { kType, kRegex, kName };
  struct Rule {
    By by = By::kName;
    std::string text;
    std::optional<QConfig> qconfig;
  };

  QConfigMapping& set_global(std::optional<QConfig> qconfig);
  // A module's type ("Conv2d", "Linear"), or an operator of the graph ("Add", "Relu").
  QConfigMapping& set_object_type(const std::string& type, std::optional<QConfig> qconfig);
  QConfigMapping& set_module_name_regex(const std::string& regex, std::optional<QConfig> qconfig);  // from the start on
  // A submodule ("layer1.0.conv1", "layer1"), or a node of the graph ("layer1.0.conv2.add").
  QConfigMapping& set_module_name(const std::string& name, std::optional<QConfig> qconfig);

  const std::optional<QConfig>& global() const { return global_; }
  const std::vector<Rule>& rules() const { return rules_; }

 private:
  QConfigMapping& add(By by, const std::string& text, std::optional<QConfig> qconfig);
  std::optional<QConfig> global_;
  std::vector<Rule> rules_;  // the more exact later
};

}  // namespace quench
