// Makes a zoo model by name, with weights that depend only on the seed.
#include "quench/zoo_net.h"

#include <algorithm>

#include "quench/state_dict.h"
#include "zoo/seeded_generator.h"
#include "zoo/zoo_weights.h"

namespace quench {

std::shared_ptr<ZooNet> make_zoo_model(const std::string& name, const ZooOptions& options) {
  const ZooEntry& entry = ZooRegistry::instance().get(name);
  QUENCH_CHECK(options.num_classes >= 0, "num_classes of zoo model '", name, "' is ", options.num_classes,
               "; it must be positive, or 0 for the model's own ", entry.num_classes);
  QUENCH_CHECK(options.in_channels >= 0, "in_channels of zoo model '", name, "' is ", options.in_channels,
               "; it must be positive, or 0 for the model's own ", entry.in_channels);
  QUENCH_CHECK(!options.quantizable || entry.quantizable, "zoo model '", name,
               "' has no quantizable form; 'quench list zoo' shows which have one");
  ZooOptions filled = options;
  if (filled.num_classes == 0) filled.num_classes = entry.num_classes;
  if (filled.in_channels == 0) filled.in_channels = entry.in_channels;
  const SeededGenerator seeded(filled.seed);  // modules draw their first weights from the global generator
  return entry.make(filled);
}

std::shared_ptr<ZooNet> make_quantizable_model(const std::string& name, const std::string& weights,
                                               ZooOptions options) {
  options.quantizable = true;
  std::shared_ptr<ZooNet> net = make_zoo_model(name, options);
  replace_relu6(*net);
  if (!weights.empty()) load_zoo_weights(name, *net, read_state_dict(weights));
  return net;
}

void load_zoo_weights(const std::string& name, ZooNet& net, TensorMap tensors) {
  const ZooEntry& entry = ZooRegistry::instance().get(name);
  std::erase_if(tensors, [&](const auto& item) { return is_training_only(entry, item.first); });
  load_state(net, tensors);
}

bool is_training_only(const ZooEntry& entry, const std::string& name) {
  return std::any_of(entry.training_only.begin(), entry.training_only.end(), [&](const std::string& module) {
    return name.starts_with(module + ".") || name.starts_with("module." + module + ".");  // the second: DataParallel
  });
}

at::Tensor zoo_forward(ZooNet& net, const at::Tensor& images) { return net.forward(images); }

void set_training(ZooNet& net, bool training) { net.train(training); }

std::int64_t count_parameters(const ZooNet& net) {
  std::int64_t count = 0;
  for (const at::Tensor& parameter : net.parameters()) count += parameter.numel();
  return count;
}

FuseLists fusible_modules(const ZooNet& net) {
  FuseLists lists;
  for (const auto& item : net.named_modules()) {
    const auto* part = dynamic_cast<const ZooNet*>(item.value().get());
    if (!part) continue;
    for (std::vector<std::string> names : part->fusible()) {
      for (std::string& name : names)
        if (!item.key().empty()) name.insert(0, item.key() + ".");
      lists.push_back(std::move(names));
    }
  }
  return lists;
}

}  // namespace quench
