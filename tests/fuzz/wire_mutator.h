// Changes in the tree of a protobuf message, which still parses. It needs no schema: the wire format says where fields
// begin and end.
#pragma once

#include "fuzz/target.h"

namespace quench {

// A field's number or text becomes another (of the same message, half of the time), or a field is doubled, moved or
// left out. False if the bytes are not a message.
bool mutate_wire(Bytes& bytes, Random& random, const MutateBytes& mutate_bytes);

}  // namespace quench
