// Items by what they hold, not by where they are: kept statistics are told apart by it, and stages that look at a few
// items only choose them by it, so that the same set gives the same result in any order.
#pragma once

#include <memory>
#include <string>

#include "quench/data.h"

namespace quench {

// Names, types, shapes and a hash of the bytes.
std::string content_text(const NamedValues& values);

// `count` items, or all if there are fewer, in an order of their own: those whose content has the smallest hash. Items
// that cannot be read are left out. Reads the whole of `data`, which must outlive it. Where state is fed back from item
// to item, the order is part of the data: these are then its first items, as they come.
std::unique_ptr<Dataset> sample_of(const Dataset& data, std::int64_t count);

}  // namespace quench
