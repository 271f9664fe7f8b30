// The .npy header: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <limits>
#include <optional>

#include "data/npy.h"
#include "quench/error.h"

namespace quench {
namespace {

constexpr std::size_t kMostDims = 64;  // NumPy's own limit

struct TypeCode {
  const char* code;  // kind and bytes, as in '<f4'
  DType dtype;
};
constexpr std::array<TypeCode, 14> kTypes = {{
    {"b1", DType::kBool},
    {"i1", DType::kInt8},
    {"i2", DType::kInt16},
    {"i4", DType::kInt32},
    {"i8", DType::kInt64},
    {"u1", DType::kUint8},
    {"u2", DType::kUint16},
    {"u4", DType::kUint32},
    {"u8", DType::kUint64},
    {"f2", DType::kFloat16},
    {"f4", DType::kFloat},
    {"f8", DType::kDouble},
    {"c8", DType::kComplex64},
    {"c16", DType::kComplex128},
}};

// Reads the few forms that the header has: strings, True and False, tuples of integers.
class Scanner {
 public:
  explicit Scanner(const std::string& text) : text_(text) {}

  bool take(char wanted) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  void expect(char wanted) { QUENCH_CHECK(take(wanted), "its header has no '", wanted, "' at byte ", at_); }
  bool at_end() {
    skip_space();
    return at_ == text_.size();
  }
  std::string string() {
    const char quote = take('\'') ? '\'' : '"';
    if (quote == '"') expect('"');
    const std::size_t end = text_.find(quote, at_);
    QUENCH_CHECK(end != std::string::npos, "its header has a string without an end");
    const std::string result = text_.substr(at_, end - at_);
    at_ = end + 1;
    return result;
  }
  bool boolean() {
    skip_space();
    for (const bool value : {true, false}) {
      const std::string word = value ? "True" : "False";
      if (text_.compare(at_, word.size(), word) != 0) continue;
      at_ += word.size();
      return value;
    }
    fail("its header says neither True nor False for fortran_order");
  }
  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> numbers;
    expect('(');
    while (!take(')')) {
      numbers.push_back(dimension());
      QUENCH_CHECK(numbers.size() <= kMostDims, "it has more than ", kMostDims, " dimensions");
      if (take(',')) continue;
      expect(')');
      break;
    }
    return numbers;
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  std::int64_t dimension() {
    skip_space();
    constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max() / 16;
    std::int64_t number = 0;
    const std::size_t begin = at_;
    for (; at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0; ++at_) {
      QUENCH_CHECK(number < kLargest, "its shape has a dimension too large for any file");
      number = number * 10 + (text_[at_] - '0');
    }
    QUENCH_CHECK(at_ > begin, "its shape holds something that is not a size");
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote long integers like this
    return number;
  }

  const std::string& text_;
  std::size_t at_ = 0;
};

const char* meaning_of(char kind) {
  switch (kind) {
    case 'O': return "Python objects, which need pickle; nothing in a pickle is ever executed";
    case 'U':
    case 'S':
    case 'a': return "text";
    case 'M':
    case 'm': return "dates or durations";
    case 'V': return "raw bytes (how NumPy saves bfloat16 and other types that it lacks)";
    default: return "a type without a tensor form";
  }
}

void parse_type(const std::string& descr, NpyHeader& header) {
  const bool has_order = !descr.empty() && std::string("<>|=").find(descr[0]) != std::string::npos;
  const std::string code = has_order ? descr.substr(1) : descr;
  const auto* at = std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeCode& type) { return code == type.code; });
  QUENCH_CHECK(at != kTypes.end(), "its type '", descr, "' is ", meaning_of(code.empty() ? ' ' : code[0]),
               "; bool, int, uint, float16 to float64 and complex are read");
  header.dtype = at->dtype;
  header.big_endian = descr[0] == '>';
}

}  // namespace

std::uint64_t NpyHeader::data_bytes() const {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  std::uint64_t bytes = static_cast<std::uint64_t>(bits_of(dtype)) / 8;
  bool empty = false;
  for (const std::int64_t dim : dims) {
    empty = empty || dim == 0;
    const auto factor = static_cast<std::uint64_t>(std::max<std::int64_t>(dim, 1));
    QUENCH_CHECK(bytes <= kMost / factor, "its shape multiplies to more than any file can hold");
    bytes *= factor;
  }
  return empty ? 0 : bytes;
}

NpyHeader parse_npy_header(const std::string& text) {
  NpyHeader header;
  Scanner scan(text);
  bool has_type = false, has_order = false, has_shape = false;
  scan.expect('{');
  while (!scan.take('}')) {
    const std::string key = scan.string();
    scan.expect(':');
    if (key == "descr") {
      QUENCH_CHECK(!scan.take('['), "it holds records (several named fields); plain arrays are read");
      parse_type(scan.string(), header);
      has_type = true;
    } else if (key == "fortran_order") {
      header.fortran_order = scan.boolean();
      has_order = true;
    } else if (key == "shape") {
      header.dims = scan.tuple();
      has_shape = true;
    } else {
      fail("its header has the unknown key '", key, "'");
    }
    if (scan.take(',')) continue;
    scan.expect('}');
    break;
  }
  QUENCH_CHECK(scan.at_end(), "its header goes on after the '}'");
  QUENCH_CHECK(has_type && has_order && has_shape, "its header lacks descr, fortran_order or shape");
  return header;
}

std::string npy_header(const RtValue& value) {
  const DType dtype = value.dtype();
  const auto* at =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeCode& type) { return dtype == type.dtype; });
  QUENCH_CHECK(at != kTypes.end(), "NumPy has no type for ", name_of(dtype), "; cast it to ",
               is_floating(dtype) ? "float"
               : is_signed(dtype) ? "int8"
                                  : "uint8",
               " first");
  const char order = bits_of(dtype) == 8 ? '|' : std::endian::native == std::endian::little ? '<' : '>';
  const TypeInfo type = value.type();
  std::string shape;
  for (const Dim& dim : *type.dims) shape += dim.text() + ", ";
  if (type.dims->size() > 1) shape.resize(shape.size() - 2);  // "(3,)" keeps its comma
  if (type.dims->size() == 1) shape.resize(shape.size() - 1);
  std::string text = concat("{'descr': '", order, at->code, "', 'fortran_order': False, 'shape': (", shape, "), }");
  constexpr std::size_t kPreamble = 10, kAlignment = 64;
  text.append(kAlignment - (kPreamble + text.size() + 1) % kAlignment, ' ');
  text += '\n';
  const auto length = static_cast<unsigned>(text.size());  // 64 dims of 20 digits stay below 65536
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(length & 0xFF) + static_cast<char>(length >> 8) + text;
}

}  // namespace quench
