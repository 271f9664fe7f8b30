// open_dataset: the kind's reader by name, its options checked; then what every kind can be told: which part of it
// (limit=, offset=), for which input (as=), with which other inputs (with=), which state goes from item to item
// (feedback=), what outputs are held against (targets=).
#include <algorithm>

#include "data/dataset_view.h"
#include "data/more_inputs.h"
#include "data/spec_options.h"
#include "data/with_targets.h"
#include "quench/data.h"
#include "quench/graph.h"

namespace quench {
namespace {

// The names of all options that every kind takes.
const std::vector<std::string>& common_options() {
  static const std::vector<std::string> names = {"as",     "feedback", "limit",   "offset",
                                                 "shared", "sequence", "targets", "with"};
  return names;
}

class Part : public DatasetView {
 public:
  Part(std::unique_ptr<Dataset> whole, std::int64_t offset, std::int64_t size)
      : DatasetView(std::move(whole)), offset_(offset), size_(size) {}
  std::int64_t size() const override { return size_; }
  Sample get(std::int64_t index) const override { return data().get(offset_ + index); }
  std::vector<std::int64_t> labels() const override { return part_of_labels(data().labels(), offset_, size_); }

 private:
  std::int64_t offset_;
  std::int64_t size_;
};

std::unique_ptr<Dataset> part_of(const DatasetSpec& spec, std::unique_ptr<Dataset> whole) {
  const auto limit = integer_option(spec, "limit", 1);
  const std::int64_t offset = integer_option(spec, "offset", 0).value_or(0);
  if (!limit && offset == 0) return whole;
  const std::int64_t size = whole->size();
  QUENCH_CHECK(offset < size, "offset=", offset, " leaves nothing of ", size, " items");
  return std::make_unique<Part>(std::move(whole), offset, std::min(limit.value_or(size), size - offset));
}

std::unique_ptr<Dataset> open_checked(const DatasetSpec& spec, const InputHint& hint) {
  const DatasetEntry& entry = DatasetRegistry::instance().get(spec.kind);
  check_options(spec);
  return part_of(spec, with_targets(spec, with_more_inputs(spec, hint, entry.open(spec, hint))));
}

}  // namespace

void check_options(const DatasetSpec& spec) {
  std::vector<std::string> known = DatasetRegistry::instance().get(spec.kind).options;
  known.insert(known.end(), common_options().begin(), common_options().end());
  std::sort(known.begin(), known.end());
  const std::string what = concat("option of '", spec.kind, ":'");
  for (const auto& [key, value] : spec.options) {
    if (!std::binary_search(known.begin(), known.end(), key)) fail_unknown_name(what.c_str(), key, known);
  }
}

InputHint input_hint(const Graph& graph, const std::string& input) {
  InputHint hint;
  const auto take = [&](const Value& from) {
    if (!from.has_rank()) return;
    const auto number = [&](std::size_t i) { return from.dims()[i].is_number() ? from.dims()[i].number() : -1; };
    if (from.rank() == 4 && hint.channels < 0) {
      hint.channels = number(1);
      hint.height = number(2);
      hint.width = number(3);
    }
    if (from.rank() == 2 && hint.length < 0) hint.length = number(1);
  };
  for (const Value* one : graph.inputs()) {
    hint.inputs.push_back(one->name());
    if (input.empty() || input == one->name()) take(*one);
  }
  return hint;
}

std::unique_ptr<Dataset> open_dataset(const DatasetSpec& spec, const InputHint& hint) {
  return with_context([&] { return concat("in the data '", spec.kind, ":", spec.path, "'"); },
                      [&] { return open_checked(spec, hint); });
}

std::unique_ptr<Dataset> open_dataset(const std::string& spec, const InputHint& hint) {
  return open_dataset(parse_spec(spec), hint);
}

std::unique_ptr<Dataset> open_dataset(const DatasetSpec& spec, const Graph& model) {
  return open_dataset(spec, input_hint(model, text_option(spec, "as").value_or("")));
}

std::unique_ptr<Dataset> open_dataset(const std::string& spec, const Graph& model) {
  return open_dataset(parse_spec(spec), model);
}

}  // namespace quench
