#include "engine/onednn.h"

#include <algorithm>
#include <numeric>

#include "core/cpu_quirks.h"
#include "engine/simd/byte_loops.h"
#include "quench/error.h"

namespace quench {
namespace {

using Type = dnnl::memory::data_type;

// Dims from the innermost to the outermost, and whether they are packed in that order.
bool lies_in_order(const DnnlLayout& layout, const std::vector<std::size_t>& innermost_first) {
  if (is_blocked(layout)) return false;
  const Sizes sizes = layout.get_dims(), strides = layout.get_strides();
  std::int64_t expected = 1;
  for (const std::size_t d : innermost_first) {
    if (sizes[d] != 1 && strides[d] != expected) return false;
    expected *= sizes[d];
  }
  return true;
}

std::vector<std::size_t> plain_order(std::size_t rank) {
  std::vector<std::size_t> order(rank);
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  return order;
}

std::vector<std::size_t> channels_last_order(std::size_t rank) {
  if (rank < 3) return plain_order(rank);
  std::vector<std::size_t> order = {1};
  for (std::size_t d = rank - 1; d >= 2; --d) order.push_back(d);
  order.push_back(0);
  return order;
}

DnnlLayout ordered_layout(const Sizes& sizes, Type type, const std::vector<std::size_t>& innermost_first) {
  Sizes strides(sizes.size());
  std::int64_t stride = 1;
  for (const std::size_t d : innermost_first) {
    strides[d] = stride;
    stride *= std::max<std::int64_t>(sizes[d], 1);
  }
  return {sizes, type, strides};
}

}  // namespace

const dnnl::engine& onednn_cpu() {
  static const dnnl::engine engine = [] {
    if (hides_amx_palette(read_cpu())) dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx512_core_fp16);
    return dnnl::engine(dnnl::engine::kind::cpu, 0);
  }();
  return engine;
}

bool has_byte_loops() {
  onednn_cpu();
  constexpr auto vnni = static_cast<int>(dnnl::cpu_isa::avx512_core_vnni);
  return (static_cast<int>(dnnl::get_effective_cpu_isa()) & vnni) == vnni;
}

std::optional<Type> onednn_type(DType dtype) {
  switch (dtype) {
    case DType::kFloat: return Type::f32;
    case DType::kInt32: return Type::s32;
    case DType::kInt8: return Type::s8;
    case DType::kUint8: return Type::u8;
    default: return std::nullopt;
  }
}

std::optional<Sizes> sizes_of(const Dims& dims) {
  Sizes sizes;
  for (const Dim& dim : dims) {
    if (!dim.is_number()) return std::nullopt;
    sizes.push_back(dim.number());
  }
  return sizes;
}

DnnlLayout plain_layout(const Sizes& sizes, Type type) {
  return ordered_layout(sizes, type, plain_order(sizes.size()));
}

DnnlLayout channels_last_layout(const Sizes& sizes, Type type) {
  return ordered_layout(sizes, type, channels_last_order(sizes.size()));
}

bool is_blocked(const DnnlLayout& layout) {
  return layout.get_format_kind() != dnnl::memory::format_kind::blocked || layout.get_inner_nblks() > 0 ||
         layout.get_dims() != layout.get_padded_dims();
}

bool is_dense(const DnnlLayout& layout) {
  std::size_t bytes = dnnl::memory::data_type_size(layout.get_data_type());
  for (const std::int64_t size : layout.get_dims()) bytes *= static_cast<std::size_t>(size);
  return layout.get_size() == bytes;
}

bool is_plain(const DnnlLayout& layout) { return lies_in_order(layout, plain_order(layout.get_dims().size())); }
bool is_channels_last(const DnnlLayout& layout) {
  return lies_in_order(layout, channels_last_order(layout.get_dims().size()));
}

Sizes strides_of(const DnnlLayout& layout) {
  QUENCH_CHECK(!is_blocked(layout), "a blocked layout has no strides");
  return layout.get_strides();
}

}  // namespace quench
