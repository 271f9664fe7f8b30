// open_dataset: the kind's reader by name, its options checked, and the part of it that limit= and
// offset= ask for.
#include <algorithm>

#include "data/spec_options.h"
#include "quench/data.h"

namespace quench {
namespace {

class Part : public Dataset {
 public:
  Part(std::unique_ptr<Dataset> whole, std::int64_t offset, std::int64_t size)
      : whole_(std::move(whole)), offset_(offset), size_(size) {}
  std::int64_t size() const override { return size_; }
  Sample get(std::int64_t index) const override { return whole_->get(offset_ + index); }
  Task task() const override { return whole_->task(); }
  std::int64_t pad_token() const override { return whole_->pad_token(); }
  std::vector<std::string> classes() const override { return whole_->classes(); }

 private:
  std::unique_ptr<Dataset> whole_;
  std::int64_t offset_;
  std::int64_t size_;
};

std::unique_ptr<Dataset> open_part(const DatasetSpec& spec, const InputHint& hint) {
  const DatasetEntry& entry = DatasetRegistry::instance().get(spec.kind);
  check_options(spec);
  const auto limit = integer_option(spec, "limit", 1);
  const std::int64_t offset = integer_option(spec, "offset", 0).value_or(0);
  std::unique_ptr<Dataset> whole = entry.open(spec, hint);
  if (!limit && offset == 0) return whole;
  const std::int64_t size = whole->size();
  QUENCH_CHECK(offset < size, "offset=", offset, " leaves nothing of ", size, " items");
  return std::make_unique<Part>(std::move(whole), offset, std::min(limit.value_or(size), size - offset));
}

}  // namespace

void check_options(const DatasetSpec& spec) {
  std::vector<std::string> known = DatasetRegistry::instance().get(spec.kind).options;
  known.insert(known.end(), {"limit", "offset"});
  std::sort(known.begin(), known.end());
  const std::string what = concat("option of '", spec.kind, ":'");
  for (const auto& [key, value] : spec.options) {
    if (!std::binary_search(known.begin(), known.end(), key)) fail_unknown_name(what.c_str(), key, known);
  }
}

std::unique_ptr<Dataset> open_dataset(const DatasetSpec& spec, const InputHint& hint) {
  return with_context([&] { return concat("in the data '", spec.kind, ":", spec.path, "'"); },
                      [&] { return open_part(spec, hint); });
}

std::unique_ptr<Dataset> open_dataset(const std::string& spec, const InputHint& hint) {
  return open_dataset(parse_spec(spec), hint);
}

}  // namespace quench
