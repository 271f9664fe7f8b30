// For models with several inputs: as=NAME (the input that a data set's items are for), with=FILE (an .npz with the
// others), feedback=IN:OUT,... and sequence=N (recurrent state),
// shared=NAME,... (arrays that are the same for all items).
#pragma once

#include <memory>

#include "quench/data.h"

namespace quench {

// `data` as it is where the spec has none of these options.
std::unique_ptr<Dataset> with_more_inputs(const DatasetSpec& spec, const InputHint& hint,
                                          std::unique_ptr<Dataset> data);

}  // namespace quench
