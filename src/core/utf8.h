// Whether a text is UTF-8 (RFC 3629).
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace quench {

// Where the first byte is that no character of UTF-8 can have there; nothing if all is well.
std::optional<std::size_t> first_not_utf8(std::string_view text);

}  // namespace quench
