// Making a zoo model by name, with weights that depend on the seed alone.
#include "zoo/zoo_net.h"

#include <ATen/CPUGeneratorImpl.h>

#include <mutex>

namespace quench {
namespace {

// LibTorch's modules draw their first weights from the global generator: it is seeded for the time of
// construction and put back afterwards.
class SeededGlobalGenerator {
 public:
  explicit SeededGlobalGenerator(std::uint64_t seed)
      : generator_(at::detail::getDefaultCPUGenerator()), lock_(construction_mutex()), before_(generator_.get_state()) {
    generator_.set_current_seed(seed);
  }
  ~SeededGlobalGenerator() { generator_.set_state(before_); }
  SeededGlobalGenerator(const SeededGlobalGenerator&) = delete;
  SeededGlobalGenerator& operator=(const SeededGlobalGenerator&) = delete;

 private:
  static std::mutex& construction_mutex() {
    static std::mutex mutex;
    return mutex;
  }

  at::Generator generator_;
  std::lock_guard<std::mutex> lock_;
  at::Tensor before_;
};

}  // namespace

std::shared_ptr<ZooNet> make_zoo_model(const std::string& name, const ZooOptions& options) {
  const ZooEntry& entry = ZooRegistry::instance().get(name);
  QUENCH_CHECK(options.num_classes >= 0, "num_classes of zoo model '", name, "' is ", options.num_classes,
               "; it must be positive, or 0 for the model's own ", entry.num_classes);
  QUENCH_CHECK(options.in_channels >= 0, "in_channels of zoo model '", name, "' is ", options.in_channels,
               "; it must be positive, or 0 for the model's own ", entry.in_channels);
  ZooOptions filled = options;
  if (filled.num_classes == 0) filled.num_classes = entry.num_classes;
  if (filled.in_channels == 0) filled.in_channels = entry.in_channels;
  const SeededGlobalGenerator seeded(filled.seed);
  return entry.make(filled);
}

at::Tensor zoo_forward(ZooNet& net, const at::Tensor& images) { return net.forward(images); }

void set_training(ZooNet& net, bool training) { net.train(training); }

std::int64_t count_parameters(const ZooNet& net) {
  std::int64_t count = 0;
  for (const at::Tensor& parameter : net.parameters()) count += parameter.numel();
  return count;
}

}  // namespace quench
