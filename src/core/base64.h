// Base64 (RFC 4648, with padding), for tensors in the text form.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace quench {

std::string encode_base64(const void* data, std::size_t bytes);
std::string decode_base64(std::string_view text);  // throws for a character or length that is not base64

}  // namespace quench
