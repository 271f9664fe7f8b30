#include "data/with_targets.h"

#include "core/joined.h"
#include "data/dataset_view.h"
#include "quench/targets.h"

namespace quench {
namespace {

class WithTargets : public DatasetView {
 public:
  WithTargets(std::unique_ptr<Dataset> data, std::string kind, std::unique_ptr<Targets> targets)
      : DatasetView(std::move(data)), kind_(std::move(kind)), targets_(std::move(targets)) {
    QUENCH_CHECK(targets_->size() < 0 || targets_->size() == size(), "there are ", size(), " items, but ",
                 targets_->size(), " targets");
  }
  std::string target_kind() const override { return kind_; }
  Sample get(std::int64_t index) const override {
    Sample sample = data().get(index);
    NamedValues targets = with_context([&] { return concat("in the targets of '", sample.name, "'"); },
                                       [&] { return targets_->get(index, sample); });
    sample.targets = std::move(targets);
    return sample;
  }

 private:
  std::string kind_;
  std::unique_ptr<Targets> targets_;
};

}  // namespace

std::unique_ptr<Dataset> with_targets(const DatasetSpec& spec, std::unique_ptr<Dataset> data) {
  const auto text = text_option(spec, "targets");
  if (!text) return data;
  QUENCH_CHECK(data->target_kind().empty(), "targets= is given, but the data has targets of its own (target=)");
  const std::size_t colon = text->find(':');
  QUENCH_CHECK(colon != std::string::npos && colon > 0 && colon + 1 < text->size(), "option targets=", *text,
               " is not KIND:PATH, with one of ", joined(TargetRegistry::instance().names()));
  const std::string kind = text->substr(0, colon), path = text->substr(colon + 1);
  const TargetEntry& entry = TargetRegistry::instance().get(kind);
  return with_context([&] { return concat("in targets=", *text); },
                      [&] { return std::make_unique<WithTargets>(std::move(data), kind, entry.open(path)); });
}

}  // namespace quench
