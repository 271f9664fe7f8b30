// parse_input_shape: "1,3,224,224" or "1,128:int64".
#include <charconv>

#include "quench/dtype.h"
#include "quench/error.h"
#include "quench/import.h"

namespace quench {

TypeInfo parse_input_shape(const std::string& text) {
  const std::size_t colon = text.find(':');
  TypeInfo type = TypeInfo::tensor(DType::kFloat, Dims{});
  if (colon != std::string::npos) type.dtype = dtype_from_name(text.substr(colon + 1));
  const std::string_view numbers = std::string_view(text).substr(0, colon);
  for (std::size_t begin = 0; begin <= numbers.size();) {
    const std::size_t end = std::min(numbers.find(',', begin), numbers.size());
    std::string_view part = numbers.substr(begin, end - begin);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    std::int64_t number = 0;
    const auto [stopped, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    QUENCH_CHECK(error == std::errc() && stopped == part.data() + part.size() && number > 0, "'", text,
                 "' is not a shape such as 1,3,224,224 or 1,128:int64");
    type.dims->emplace_back(number);
    begin = end + 1;
  }
  return type;
}

}  // namespace quench
