// Arrays of an .npz file as items along their first axis.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "quench/data.h"
#include "quench/npz.h"

namespace quench {

// "'ids', 'mask'"
std::string names_of(const NamedValues& arrays);

struct ItemArrays {
  NamedValues items;   // first axis: the items, as many in each
  NamedValues shared;  // the same for every item

  std::int64_t size() const;  // of the items
  NamedValues item(std::int64_t index) const;
};

// Arrays without an axis, and those named, are the same for every item. Throws if the others differ in how many
// items they hold.
ItemArrays item_arrays(const NamedValues& arrays, const std::set<std::string>& shared);

std::set<std::string> shared_option(const DatasetSpec& spec);  // shared=a,b

// The arrays that target= names (a,b): what metrics hold outputs against.
NamedValues target_arrays(const NamedValues& arrays, const DatasetSpec& spec);
// The name of the array with the labels: the one that labels= names, else 'labels' or 'y' where no input of the model
// is called so. "" if there is none.
std::string label_array(const NamedValues& arrays, const DatasetSpec& spec, const InputHint& hint);
// The arrays that are inputs: the one that input= names (without a name then), else all but the labels and
// targets. For a model
// with one input, of 'input', 'x' and 'array' the one that is there.
NamedValues input_arrays(const NamedValues& arrays, const DatasetSpec& spec, const InputHint& hint);

}  // namespace quench
