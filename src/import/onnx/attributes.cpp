#include "import/onnx/attributes.h"

#include <quench_onnx.pb.h>

#include "import/onnx/tensor.h"
#include "import/onnx/types.h"
#include "quench/error.h"

namespace quench {
namespace {

using quench_onnx::AttributeProto;
using Type = quench_onnx::AttributeProto_AttributeType;

// The types whose field is filled. Old files (IR version 1) do not say the type, so it is taken from here.
std::vector<Type> filled_types(const AttributeProto& proto) {
  std::vector<Type> types;
  const auto note = [&](bool filled, Type type) {
    if (filled) types.push_back(type);
  };
  note(proto.has_f(), AttributeProto::FLOAT);
  note(proto.has_i(), AttributeProto::INT);
  note(proto.has_s(), AttributeProto::STRING);
  note(proto.has_t(), AttributeProto::TENSOR);
  note(proto.has_g(), AttributeProto::GRAPH);
  note(proto.has_sparse_tensor(), AttributeProto::SPARSE_TENSOR);
  note(proto.has_tp(), AttributeProto::TYPE_PROTO);
  note(proto.floats_size() > 0, AttributeProto::FLOATS);
  note(proto.ints_size() > 0, AttributeProto::INTS);
  note(proto.strings_size() > 0, AttributeProto::STRINGS);
  note(proto.tensors_size() > 0, AttributeProto::TENSORS);
  note(proto.graphs_size() > 0, AttributeProto::GRAPHS);
  note(proto.sparse_tensors_size() > 0, AttributeProto::SPARSE_TENSORS);
  note(proto.type_protos_size() > 0, AttributeProto::TYPE_PROTOS);
  return types;
}

// Writers in other languages fill a scalar's field with its default besides the one that counts, so only
// a list, a tensor or a graph of another type is a contradiction, or a scalar if the right field is missing.
Type type_of(const AttributeProto& proto) {
  const std::vector<Type> filled = filled_types(proto);
  if (proto.type() == AttributeProto::UNDEFINED) {
    QUENCH_CHECK(filled.size() == 1, "attribute '", proto.name(), "' does not say its type");
    return filled.front();
  }
  const bool has_own = std::find(filled.begin(), filled.end(), proto.type()) != filled.end();
  for (const Type type : filled) {
    const bool scalar = type == AttributeProto::FLOAT || type == AttributeProto::INT || type == AttributeProto::STRING;
    QUENCH_CHECK(type == proto.type() || (scalar && has_own), "attribute '", proto.name(), "' says that its type is ",
                 proto.type(), " but holds type ", type, " (numbers of AttributeProto.AttributeType)");
  }
  return proto.type();
}

std::vector<TensorAttr> decode_tensors(const AttributeProto& proto, const ExternalData& external) {
  std::vector<TensorAttr> tensors;
  for (const auto& tensor : proto.tensors()) tensors.push_back(decode_tensor(tensor, external));
  return tensors;
}

}  // namespace

bool holds_graphs(const AttributeProto& proto) { return proto.has_g() || proto.graphs_size() > 0; }

Attr decode_attribute(const AttributeProto& proto, const ExternalData& external) {
  QUENCH_CHECK(proto.ref_attr_name().empty(), "attribute '", proto.name(), "' refers to '", proto.ref_attr_name(),
               "', which only a function can");
  switch (type_of(proto)) {
    case AttributeProto::FLOAT: return static_cast<double>(proto.f());
    case AttributeProto::INT: return static_cast<std::int64_t>(proto.i());
    case AttributeProto::STRING: return proto.s();
    case AttributeProto::TENSOR: return decode_tensor(proto.t(), external);
    case AttributeProto::SPARSE_TENSOR: return decode_sparse_tensor(proto.sparse_tensor(), external);
    case AttributeProto::TYPE_PROTO: return decode_type(proto.tp());
    case AttributeProto::FLOATS: return std::vector<double>(proto.floats().begin(), proto.floats().end());
    case AttributeProto::INTS: return std::vector<std::int64_t>(proto.ints().begin(), proto.ints().end());
    case AttributeProto::STRINGS: return std::vector<std::string>(proto.strings().begin(), proto.strings().end());
    case AttributeProto::TENSORS: return decode_tensors(proto, external);
    case AttributeProto::GRAPH:
    case AttributeProto::GRAPHS: fail("attribute '", proto.name(), "' says that it is a graph but holds none");
    case AttributeProto::SPARSE_TENSORS:
    case AttributeProto::TYPE_PROTOS:
    case AttributeProto::UNDEFINED: break;
  }
  fail("attribute '", proto.name(), "' has a type that is not supported: ", proto.type());
}

}  // namespace quench
