// What the steps share of oneDNN: its engine, and layouts. The only headers of quench that include oneDNN's lie in this
// folder, and no other folder includes them.
#pragma once

#include <cstdint>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kernels/thread_limit.h"
#include "quench/type_info.h"

namespace quench {

using DnnlLayout = dnnl::memory::desc;  // sizes, element type, and where each element lies
using Sizes = std::vector<std::int64_t>;

// The processor. Made once; keeps oneDNN from instructions that only seem to be there (docs/runtimes.md 5).
const dnnl::engine& onednn_cpu();

std::optional<dnnl::memory::data_type> onednn_type(DType dtype);  // nothing where oneDNN has no such type
std::optional<Sizes> sizes_of(const Dims& dims);                  // nothing unless all are numbers

DnnlLayout plain_layout(const Sizes& sizes, dnnl::memory::data_type type);
// [N, C, spatial...] with the channels innermost; plain below rank 3.
DnnlLayout channels_last_layout(const Sizes& sizes, dnnl::memory::data_type type);

bool is_blocked(const DnnlLayout& layout);  // not expressible by strides
bool is_dense(const DnnlLayout& layout);    // nothing but its elements lies in its memory
// Every element lies where it does in the plain layout (sizes of 1 may have any stride).
bool is_plain(const DnnlLayout& layout);
bool is_channels_last(const DnnlLayout& layout);
Sizes strides_of(const DnnlLayout& layout);  // throws for a blocked one

}  // namespace quench
