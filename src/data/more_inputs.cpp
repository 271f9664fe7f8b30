#include "data/more_inputs.h"

#include <algorithm>

#include "data/dataset_view.h"
#include "data/npz_arrays.h"

namespace quench {
namespace {

void check_input_name(const char* option, const std::string& name, const InputHint& hint) {
  if (hint.inputs.empty() || std::find(hint.inputs.begin(), hint.inputs.end(), name) != hint.inputs.end()) return;
  fail_unknown_name(concat("input of the model (", option, "=)").c_str(), name, hint.inputs);
}

// "h_in:h_out,c_in:c_out"
Feedback read_feedback(const DatasetSpec& spec, const InputHint& hint) {
  Feedback feedback;
  const std::string text = text_option(spec, "feedback").value_or("");
  const auto sequence = integer_option(spec, "sequence", 1);
  QUENCH_CHECK(!sequence || !text.empty(), "sequence= is for feedback=: without state all items are alike");
  feedback.sequence = sequence.value_or(0);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string pair = text.substr(begin, end - begin);
    const std::size_t colon = pair.find(':');
    QUENCH_CHECK(colon != std::string::npos && colon > 0 && colon + 1 < pair.size(), "option feedback=", text,
                 " is not a list of INPUT:OUTPUT, such as h_in:h_out");
    check_input_name("feedback", pair.substr(0, colon), hint);
    feedback.states[pair.substr(0, colon)] = pair.substr(colon + 1);
    begin = end + 1;
  }
  return feedback;
}

class MoreInputs : public DatasetView {
 public:
  MoreInputs(const DatasetSpec& spec, const InputHint& hint, std::unique_ptr<Dataset> data)
      : DatasetView(std::move(data)),
        name_(text_option(spec, "as").value_or("")),
        feedback_(read_feedback(spec, hint)) {
    if (!name_.empty()) check_input_name("as", name_, hint);
    if (const auto file = text_option(spec, "with")) read_more(*file, shared_option(spec));
    const NamedValues same = shared();
    for (const std::string& name : shared_option(spec))
      QUENCH_CHECK(same.contains(name), "shared=", name, ": there is no array of that name");
  }
  std::string token_input() const override { return data().token_input().empty() ? name_ : data().token_input(); }
  NamedValues shared() const override {
    NamedValues all = data().shared();
    all.merge(NamedValues(more_.shared));
    return all;
  }
  Feedback feedback() const override { return feedback_; }
  Sample get(std::int64_t index) const override {
    Sample sample = data().get(index);
    NamedValues all = sample.inputs.values();
    if (!name_.empty()) {
      QUENCH_CHECK(all.size() == 1, "as=", name_, " names data of one input, but this has ", all.size());
      all = {{name_, sample.inputs.only()}};
    }
    NamedValues more = more_.item(index);
    for (const auto& [name, value] : more)
      QUENCH_CHECK(!all.contains(name), "both the data and with= give '", name, "'");
    all.merge(std::move(more));
    sample.inputs = all;
    return sample;
  }

 private:
  void read_more(const std::string& file, const std::set<std::string>& shared) {
    QUENCH_CHECK(!name_.empty() || data().size() == 0 || data().get(0).inputs.has_names(),
                 "with= gives other inputs: say with as=NAME which one the items are for");
    with_context([&] { return concat("in with=", file); },
                 [&] {
                   more_ = item_arrays(read_npz(file), shared);
                   QUENCH_CHECK(more_.items.empty() || more_.size() == data().size(), "there are ", data().size(),
                                " items, but arrays of ", more_.size());
                 });
  }

  std::string name_;
  Feedback feedback_;
  ItemArrays more_;
};

}  // namespace

std::unique_ptr<Dataset> with_more_inputs(const DatasetSpec& spec, const InputHint& hint,
                                          std::unique_ptr<Dataset> data) {
  for (const char* option : {"as", "with", "feedback", "sequence", "shared"})
    if (spec.options.contains(option)) return std::make_unique<MoreInputs>(spec, hint, std::move(data));
  return data;
}

}  // namespace quench
