// Tensors in the text form: `{1, 2.5, -3}` for small ones, `base64 "..."` for the rest.
#pragma once

#include <string>
#include <vector>

#include "quench/type_info.h"

namespace at {
class Tensor;
}

namespace quench {

std::string quote_text(const std::string& text);  // "a\"b\n": printable, one line
std::string float_text(double value);             // the shortest text that reads back equal; always with . or e
std::string tensor_data_text(const at::Tensor& tensor, DType dtype, bool with_large_data);

at::Tensor tensor_from_numbers(DType dtype, const std::vector<std::int64_t>& sizes,
                               const std::vector<std::string>& numbers);
at::Tensor tensor_from_base64(DType dtype, const std::vector<std::int64_t>& sizes, const std::string& text);

}  // namespace quench
