#include "import/onnx/tensor.h"

#include <ATen/ATen.h>
#include <quench_onnx.pb.h>

#include <charconv>
#include <cstring>
#include <limits>

#include "graph/tensor_types.h"
#include "quench/error.h"

namespace quench {
namespace {

using quench_onnx::TensorProto;

constexpr int kMaxRank = 64;

struct Layout {
  DType dtype = DType::kUndefined;
  std::vector<std::int64_t> dims;
  std::int64_t elements = 0;
  std::int64_t bytes = 0;  // in a file: packed
};

std::string text_of_dims(const std::vector<std::int64_t>& dims) { return text_of(Dims(dims.begin(), dims.end())); }
std::string describe(const Layout& layout) { return concat(name_of(layout.dtype), text_of_dims(layout.dims)); }

Layout layout_of(DType dtype, std::vector<std::int64_t> dims) {
  QUENCH_CHECK(dims.size() <= kMaxRank, "a tensor of rank ", dims.size(), "; the limit is ", kMaxRank);
  std::int64_t extent = 1;  // zeros left out: the other dims must be representable too
  bool empty = false;
  for (const std::int64_t dim : dims) {
    QUENCH_CHECK(dim >= 0, "dims ", text_of_dims(dims), " have a negative entry");
    empty = empty || dim == 0;
    const bool overflows = dim != 0 && __builtin_mul_overflow(extent, dim, &extent);
    QUENCH_CHECK(!overflows && extent < std::numeric_limits<std::int64_t>::max() / 128, "dims ", text_of_dims(dims),
                 " are more than a tensor can hold");
  }
  const std::int64_t elements = empty ? 0 : extent;
  return {dtype, std::move(dims), elements, (elements * bits_of(dtype) + 7) / 8};
}

// int4, uint4, fp4 and int2, uint2: several codes per byte, the first in the lowest bits.
void unpack(const std::uint8_t* from, const Layout& layout, std::uint8_t* to) {
  const int bits = bits_of(layout.dtype);
  const int per_byte = 8 / bits;
  const auto mask = static_cast<std::uint8_t>((1 << bits) - 1);
  const bool extend = is_integer(layout.dtype) && is_signed(layout.dtype);
  for (std::int64_t i = 0; i < layout.elements; ++i) {
    auto code = static_cast<std::uint8_t>((from[i / per_byte] >> (i % per_byte * bits)) & mask);
    if (extend && (code >> (bits - 1)) != 0) code = static_cast<std::uint8_t>(code | ~mask);
    to[i] = code;
  }
}

at::Tensor empty_tensor(const Layout& layout) { return at::empty(layout.dims, scalar_type_of(layout.dtype)); }

// `bytes` as stored in a file; layout.bytes of them.
at::Tensor from_file_bytes(const std::uint8_t* bytes, const Layout& layout) {
  at::Tensor tensor = empty_tensor(layout);
  if (layout.elements == 0) return tensor;
  auto* to = static_cast<std::uint8_t*>(tensor.mutable_data_ptr());
  if (bits_of(layout.dtype) < 8) {
    unpack(bytes, layout, to);
    return tensor;
  }
  std::memcpy(to, bytes, static_cast<std::size_t>(layout.bytes));
  if (layout.dtype == DType::kBool)
    for (std::int64_t i = 0; i < layout.elements; ++i) to[i] = to[i] != 0 ? 1 : 0;
  return tensor;
}

at::Tensor from_raw(const TensorProto& proto, const Layout& layout) {
  const std::string& raw = proto.raw_data();
  QUENCH_CHECK(static_cast<std::int64_t>(raw.size()) == layout.bytes, describe(layout), " needs ", layout.bytes,
               " bytes of raw data, found ", raw.size());
  return from_file_bytes(reinterpret_cast<const std::uint8_t*>(raw.data()), layout);
}

template <typename Field>
void check_count(const Field& field, std::int64_t expected, const Layout& layout) {
  QUENCH_CHECK(field.size() == expected, describe(layout), " needs ", expected, " numbers, found ", field.size());
}

// float_data, int64_data, double_data ...: the element itself.
template <typename Field>
at::Tensor from_same(const Field& field, const Layout& layout) {
  check_count(field, layout.bytes / static_cast<std::int64_t>(sizeof(*field.data())), layout);
  at::Tensor tensor = empty_tensor(layout);
  if (field.size() > 0) std::memcpy(tensor.mutable_data_ptr(), field.data(), tensor.nbytes());
  return tensor;
}

// Each number carries one element (or one byte of packed codes) in its low bits.
template <typename Field>
at::Tensor from_wider(const Field& field, const Layout& layout) {
  const int bits = std::max(bits_of(layout.dtype), 8);
  check_count(field, layout.bytes * 8 / bits, layout);
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(layout.bytes));
  const std::int64_t lowest = -(std::int64_t{1} << (bits - 1)), highest = (std::int64_t{1} << bits) - 1;
  std::size_t at = 0;
  for (const auto number : field) {
    const auto wide = static_cast<std::int64_t>(number);
    QUENCH_CHECK(wide >= lowest && wide <= highest, number, " does not fit ", name_of(layout.dtype));
    std::memcpy(&bytes[at], &wide, static_cast<std::size_t>(bits / 8));  // little-endian
    at += static_cast<std::size_t>(bits / 8);
  }
  return from_file_bytes(bytes.data(), layout);
}

at::Tensor from_typed(const TensorProto& proto, const Layout& layout) {
  switch (layout.dtype) {
    case DType::kFloat:
    case DType::kComplex64: return from_same(proto.float_data(), layout);
    case DType::kDouble:
    case DType::kComplex128: return from_same(proto.double_data(), layout);
    case DType::kInt64: return from_same(proto.int64_data(), layout);
    case DType::kUint64: return from_same(proto.uint64_data(), layout);
    case DType::kUint32: return from_wider(proto.uint64_data(), layout);
    case DType::kInt32: return from_same(proto.int32_data(), layout);
    default: return from_wider(proto.int32_data(), layout);
  }
}

std::int64_t parse_count(const std::string& key, const std::string& text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  QUENCH_CHECK(error == std::errc() && at == end && number >= 0, "external data: ", key, " '", text,
               "' is not a number of bytes");
  return number;
}

at::Tensor from_external(const TensorProto& proto, const Layout& layout, const ExternalData& external) {
  ExternalData::Range range{"", 0, layout.bytes};
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") range.location = entry.value();
    if (entry.key() == "offset") range.offset = parse_count("offset", entry.value());
    if (entry.key() != "length") continue;
    const std::int64_t length = parse_count("length", entry.value());
    QUENCH_CHECK(length == layout.bytes, describe(layout), " needs ", layout.bytes,
                 " bytes, but its external data has length ", length);
  }
  external.check(range);
  if (bits_of(layout.dtype) < 8 || layout.dtype == DType::kBool) {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(layout.bytes));
    external.read(range, bytes.data());
    return from_file_bytes(bytes.data(), layout);
  }
  at::Tensor tensor = empty_tensor(layout);
  external.read(range, tensor.mutable_data_ptr());
  return tensor;
}

int typed_fields(const TensorProto& proto) {
  return (proto.float_data_size() > 0) + (proto.int32_data_size() > 0) + (proto.int64_data_size() > 0) +
         (proto.double_data_size() > 0) + (proto.uint64_data_size() > 0) + (proto.string_data_size() > 0);
}

at::Tensor decode_elements(const TensorProto& proto, const Layout& layout, const ExternalData& external) {
  const bool is_external = proto.data_location() == quench_onnx::TensorProto_DataLocation_EXTERNAL;
  const bool is_raw = !proto.raw_data().empty();
  QUENCH_CHECK(typed_fields(proto) + (is_raw ? 1 : 0) + (is_external ? 1 : 0) <= 1,
               "the data is given in more than one way");
  if (is_external) return from_external(proto, layout, external);
  if (typed_fields(proto) == 0) return from_raw(proto, layout);
  return from_typed(proto, layout);
}

}  // namespace

TensorAttr decode_tensor(const TensorProto& proto, const ExternalData& external) {
  const auto where = [&] { return concat("in tensor '", proto.name(), "'"); };
  return with_context(where, [&]() -> TensorAttr {
    const DType dtype = dtype_from_onnx(proto.data_type());
    QUENCH_CHECK(dtype != DType::kString, "string tensors are not supported");
    QUENCH_CHECK(!proto.has_segment(), "tensors in segments are not supported");
    const Layout layout = layout_of(dtype, {proto.dims().begin(), proto.dims().end()});
    return make_tensor_attr(decode_elements(proto, layout, external), dtype);
  });
}

}  // namespace quench
