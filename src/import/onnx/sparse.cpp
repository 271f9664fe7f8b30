// Sparse tensors of an ONNX file (values and their indices) made dense.
#include <ATen/ATen.h>
#include <quench_onnx.pb.h>

#include <cstring>

#include "graph/tensor_types.h"
#include "import/onnx/tensor.h"
#include "quench/error.h"

namespace quench {
namespace {

// A sparse tensor takes few bytes in the file whatever its dims; this bounds what they may ask for.
constexpr std::int64_t kMaxElements = std::int64_t{1} << 26;

std::int64_t count_elements(const std::vector<std::int64_t>& dims) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) {
    const bool fits = dim >= 0 && dim <= kMaxElements && count * dim <= kMaxElements;
    QUENCH_CHECK(fits && dims.size() <= 64, "a sparse tensor of dims ", text_of(Dims(dims.begin(), dims.end())),
                 " cannot be made dense: at most ", kMaxElements, " elements");
    count *= dim;
  }
  return count;
}

// Where each value goes, as flat indices: the file has flat ones, or one row of coordinates per value.
std::vector<std::int64_t> places_of(const at::Tensor& indices, std::int64_t values,
                                    const std::vector<std::int64_t>& dims) {
  const auto rank = static_cast<std::int64_t>(dims.size());
  const bool flat = indices.dim() == 1 && indices.numel() == values;
  const bool rows = indices.dim() == 2 && indices.size(0) == values && indices.size(1) == rank;
  QUENCH_CHECK(indices.scalar_type() == at::kLong && (flat || rows), "a sparse tensor of ", values,
               " values needs int64 indices of dims [", values, "] or [", values, ", ", rank, "]");
  const std::vector<std::int64_t> numbers = integers_of(indices);
  if (flat) return numbers;
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < values; ++i) {
    std::int64_t place = 0;
    for (std::int64_t d = 0; d < rank; ++d) {
      const std::int64_t index = numbers[static_cast<std::size_t>(i * rank + d)];
      QUENCH_CHECK(index >= 0 && index < dims[static_cast<std::size_t>(d)], "index ", index,
                   " of a sparse tensor is outside its dims");
      place = place * dims[static_cast<std::size_t>(d)] + index;
    }
    places.push_back(place);
  }
  return places;
}

TensorAttr make_dense(const TensorAttr& values, const at::Tensor& indices, const std::vector<std::int64_t>& dims) {
  const at::Tensor& source = *values.tensor;
  QUENCH_CHECK(source.dim() == 1, "the values of a sparse tensor are of rank 1, found ", source.dim());
  const std::int64_t elements = count_elements(dims);
  const std::vector<std::int64_t> places = places_of(indices, source.numel(), dims);
  at::Tensor dense = at::empty(dims, source.options());
  if (elements > 0) std::memset(dense.mutable_data_ptr(), 0, dense.nbytes());
  auto* to = static_cast<char*>(dense.mutable_data_ptr());
  const auto* from = static_cast<const char*>(source.const_data_ptr());
  const std::size_t width = source.element_size();
  for (std::size_t i = 0; i < places.size(); ++i) {
    QUENCH_CHECK(places[i] >= 0 && places[i] < elements, "index ", places[i],
                 " of a sparse tensor is outside its dims");
    std::memcpy(to + static_cast<std::size_t>(places[i]) * width, from + i * width, width);
  }
  return make_tensor_attr(dense, values.dtype);
}

}  // namespace

TensorAttr decode_sparse_tensor(const quench_onnx::SparseTensorProto& proto, const ExternalData& external) {
  const TensorAttr values = decode_tensor(proto.values(), external);
  const TensorAttr indices = decode_tensor(proto.indices(), external);
  return with_context([&] { return concat("in sparse tensor '", proto.values().name(), "'"); },
                      [&] { return make_dense(values, *indices.tensor, {proto.dims().begin(), proto.dims().end()}); });
}

}  // namespace quench
