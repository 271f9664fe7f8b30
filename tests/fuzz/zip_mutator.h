// Changes inside the members of a zip, whose checksums are then fixed up.
#pragma once

#include <string>

#include "fuzz/target.h"

namespace quench {

// Changes the bytes of one member. Members are taken by their names, so a change can know what it has before it.
using MutateMember = std::function<void(const std::string& name, Bytes& bytes)>;

// A member is changed, doubled, renamed or left out. False if the bytes are not a zip (of less than 16 MB unpacked).
bool mutate_zip(Bytes& bytes, Random& random, const MutateMember& mutate_member);

}  // namespace quench
