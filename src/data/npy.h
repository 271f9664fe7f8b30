// One array in NumPy's .npy form: a header that is a small Python dictionary, then the elements.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "quench/executor.h"
#include "quench/rt_value.h"

namespace quench {

struct NpyHeader {
  DType dtype = DType::kUndefined;
  bool big_endian = false;
  bool fortran_order = false;
  std::vector<std::int64_t> dims;

  std::uint64_t data_bytes() const;  // throws when the dims multiply to more than a file can hold
};

// `text` is the dictionary alone. Throws for what NumPy would need pickle for, text, records and dates.
NpyHeader parse_npy_header(const std::string& text);

// Magic, version and dictionary, padded to 64 bytes. Throws for a type that NumPy lacks.
std::string npy_header(const RtValue& value);

// bfloat16, which NumPy lacks, as float32, which holds all its values. All else unchanged.
NamedValues for_numpy(const NamedValues& values);

// Fills exactly this many bytes, or throws.
using ReadExactly = std::function<void(void*, std::size_t)>;
// `size` is how many bytes there are; nothing is allocated for a header that claims another number.
RtValue read_npy(const ReadExactly& read, std::uint64_t size);

}  // namespace quench
