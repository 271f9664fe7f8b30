// Types of an ONNX file, and how a declared type combines with an inferred one.
#pragma once

#include "quench/type_info.h"

namespace quench_onnx {
class TypeProto;
}

namespace quench {

// Throws for maps, sparse tensors and opaque types. A dim of -1 is unknown, as old exporters write it.
TypeInfo decode_type(const quench_onnx::TypeProto& proto);

// What is known about a value from both. The inferred type wins; the declared one fills what it leaves
// open. Throws, naming `value`, when the two cannot both be true.
TypeInfo merge_types(const TypeInfo& inferred, const TypeInfo& declared, const std::string& value);

}  // namespace quench
