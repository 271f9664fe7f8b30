#include "qat/job_key.h"

#include <fmt/format.h>

#include "core/hash.h"
#include "qat/train_fields.h"
#include "quench/error.h"

namespace quench {
namespace {

// Collects the options as text.
class Listed {
 public:
  template <typename T>
  void operator()(const char* key, const T& field) {
    text_ += concat(" ", key, "=", field);
  }
  void operator()(const char* key, double field) { text_ += fmt::format(" {}={}", key, field); }
  void operator()(const char* key, const std::optional<double>& field) { (*this)(key, field.value_or(-1)); }
  void operator()(const char* key, const std::vector<double>& field) {
    for (const double one : field) (*this)(key, one);
  }
  void operator()(const char* key, const std::vector<std::pair<int, int>>& field) {
    for (const auto& [from, interval] : field) text_ += concat(" ", key, "=", from, ":", interval);
  }
  void enter(const char* key) { text_ += concat(" ", key, "{"); }
  void leave() { text_ += "}"; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Each process has a GPU of its own.
std::string kind_of(const std::string& device) { return device.substr(0, device.find(':')); }

}  // namespace

std::uint64_t job_key(const QuantizedModel& model, const TrainData& data, const TrainOptions& options) {
  Listed listed;
  visit_train_options(options, listed);
  return stable_hash(concat(to_text(model.graph, {.data = false}), to_yaml(model.plan), listed.text(), " ",
                            options.seed, " ", kind_of(options.device), " ", data.train.size(), " ",
                            data.validation ? data.validation->size() : 0));
}

}  // namespace quench
