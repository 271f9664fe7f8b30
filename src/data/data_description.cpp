#include "data/data_description.h"

#include <ATen/ATen.h>

#include "core/counted.h"
#include "core/hash.h"
#include "core/joined.h"
#include "quench/data.h"
#include "quench/error.h"

namespace quench {
namespace {

std::string name_at(const Dataset& data, std::int64_t index) {
  try {
    const Sample sample = data.get(index);
    return sample.label < 0 ? in_quotes(sample.name) : concat(in_quotes(sample.name), " of class ", sample.label);
  } catch (const Error&) {
    return "broken";  // whoever reads it in earnest says so
  }
}

}  // namespace

std::string data_description(const Dataset& data) {
  std::string text = counted(data.size(), "item");
  if (data.size() > 0) text += concat(", ", name_at(data, 0), " to ", name_at(data, data.size() - 1));
  std::string labels;
  for (const std::int64_t label : data.labels()) labels += concat(label, " ");
  return concat(text, labels.empty() ? "" : concat(", labels ", stable_hash(labels) % 10000));
}

}  // namespace quench
