#include "graph/input_check.h"

#include <ATen/ATen.h>

#include "graph/tensor_types.h"
#include "quench/error.h"

namespace quench {
namespace {

bool fits_dim(const Dim& dim, std::int64_t size) { return !dim.is_number() || dim.number() == size; }

}  // namespace

void check_input(const Value& declared, const RtValue& given) {
  if (!declared.type().is_tensor() || given.is_sequence() || given.is_none()) return;
  QUENCH_CHECK(declared.dtype() == DType::kUndefined || declared.dtype() == given.dtype(), "input '", declared.name(),
               "' must be ", name_of(declared.dtype()), ", not ", name_of(given.dtype()));
  if (!declared.has_rank()) return;
  const auto sizes = given.tensor().sizes();
  bool fits = sizes.size() == declared.dims().size();
  for (std::size_t i = 0; fits && i < sizes.size(); ++i) fits = fits_dim(declared.dims()[i], sizes[i]);
  QUENCH_CHECK(fits, "input '", declared.name(), "' must have the shape ", text_of(declared.dims()), ", not ",
               text_of(dims_of(given.tensor())));
}

}  // namespace quench
