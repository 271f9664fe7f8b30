#include "fake_quant/node_attributes.h"

#include <set>

#include "quench/error.h"

namespace quench {

bool is_node_attribute(const std::string& name) {
  static const std::set<std::string> own = {"algorithm", "role", "scheme", "quantize_by", "observe", "quantize"};
  return own.contains(name);
}

void check_option_names(const std::string& algorithm, const std::vector<OptionInfo>& options) {
  for (const OptionInfo& option : options)
    QUENCH_CHECK(!is_node_attribute(option.name), "fake quantizer '", algorithm, "' declares the option '", option.name,
                 "', which every quantizer's node has as an attribute; give it another name");
}

}  // namespace quench
