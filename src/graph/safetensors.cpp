// The safetensors format: eight bytes with the length of a JSON header, the header (name -> dtype, shape,
// data_offsets), then the tensors one after the other without a gap. Little-endian throughout.
#include <ATen/ATen.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "core/atomic_file.h"
#include "quench/error.h"
#include "quench/registry.h"
#include "quench/safetensors.h"

namespace quench {
namespace {

static_assert(std::endian::native == std::endian::little);
using nlohmann::json;

constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the format's own bound
constexpr int kMaxHeaderDepth = 4;
constexpr std::size_t kMaxRank = 64;
constexpr const char* kMetadata = "__metadata__";

const std::map<std::string, at::ScalarType>& dtypes() {
  static const std::map<std::string, at::ScalarType> types = {
      {"BOOL", at::kBool},
      {"U8", at::kByte},
      {"I8", at::kChar},
      {"U16", at::kUInt16},
      {"I16", at::kShort},
      {"U32", at::kUInt32},
      {"I32", at::kInt},
      {"U64", at::kUInt64},
      {"I64", at::kLong},
      {"F16", at::kHalf},
      {"BF16", at::kBFloat16},
      {"F32", at::kFloat},
      {"F64", at::kDouble},
      {"C64", at::kComplexFloat},
      {"F8_E4M3", at::kFloat8_e4m3fn},
      {"F8_E4M3FNUZ", at::kFloat8_e4m3fnuz},
      {"F8_E5M2", at::kFloat8_e5m2},
      {"F8_E5M2FNUZ", at::kFloat8_e5m2fnuz},
      {"F8_E8M0", at::kFloat8_e8m0fnu},
  };
  return types;
}

at::ScalarType dtype_of(const std::string& name) {
  const auto at = dtypes().find(name);
  if (at != dtypes().end()) return at->second;
  std::vector<std::string> known;
  for (const auto& [type, unused] : dtypes()) known.push_back(type);
  fail_unknown_name("safetensors dtype", name, known);
}

const std::string& name_of(at::ScalarType dtype) {
  for (const auto& [name, type] : dtypes()) {
    if (type == dtype) return name;
  }
  fail("safetensors has no type for ", c10::toString(dtype));
}

struct Entry {
  std::string name;
  at::ScalarType dtype = at::kFloat;
  std::vector<std::int64_t> shape = {};
  std::uint64_t begin = 0, end = 0;
};

// Refuses deep nesting and repeated names while parsing, before they cost memory or hide each other.
json parse_header(const std::string& text) {
  std::set<std::string> names;
  const auto watch = [&](int depth, json::parse_event_t event, json& parsed) {
    QUENCH_CHECK(depth <= kMaxHeaderDepth, "the header is nested too deeply");
    if (event == json::parse_event_t::key && depth == 1)
      QUENCH_CHECK(names.insert(parsed.get<std::string>()).second, "the header names '", parsed.get<std::string>(),
                   "' twice");
    return true;
  };
  const json header = json::parse(text, watch, /*allow_exceptions=*/false);
  QUENCH_CHECK(header.is_object(), "the header is not a JSON object");
  return header;
}

std::vector<std::uint64_t> counts(const json& entry, const char* key) {
  const auto at = entry.find(key);
  QUENCH_CHECK(at != entry.end() && at->is_array(), "its '", key, "' is missing or not a list");
  std::vector<std::uint64_t> numbers;
  for (const json& item : *at) {
    QUENCH_CHECK(item.is_number_unsigned(), "its '", key, "' holds ", item.dump(), ", not a count");
    numbers.push_back(item.get<std::uint64_t>());
  }
  return numbers;
}

Entry read_entry(const std::string& name, const json& value) {
  QUENCH_CHECK(value.is_object(), "its entry is not a JSON object");
  const auto dtype = value.find("dtype");
  QUENCH_CHECK(dtype != value.end() && dtype->is_string(), "its 'dtype' is missing or not a string");
  Entry entry{.name = name, .dtype = dtype_of(dtype->get<std::string>())};
  std::uint64_t bytes = c10::elementSize(entry.dtype);
  const std::vector<std::uint64_t> shape = counts(value, "shape");
  QUENCH_CHECK(shape.size() <= kMaxRank, "it has ", shape.size(), " dimensions; ", kMaxRank, " at most");
  for (const std::uint64_t size : shape) {
    QUENCH_CHECK(size <= INT64_MAX && !__builtin_mul_overflow(bytes, size, &bytes), "its shape is larger than memory");
    entry.shape.push_back(static_cast<std::int64_t>(size));
  }
  const std::vector<std::uint64_t> offsets = counts(value, "data_offsets");
  QUENCH_CHECK(offsets.size() == 2 && offsets[0] <= offsets[1], "its 'data_offsets' are not a begin and an end");
  entry.begin = offsets[0];
  entry.end = offsets[1];
  QUENCH_CHECK(entry.end - entry.begin == bytes, "its shape needs ", bytes, " bytes; its 'data_offsets' give it ",
               entry.end - entry.begin);
  return entry;
}

// In order of place. The format demands that the tensors cover the data without gap or overlap.
std::vector<Entry> read_entries(const json& header, std::uint64_t data_bytes) {
  std::vector<Entry> entries;
  for (const auto& [name, value] : header.items()) {
    if (name == kMetadata) continue;
    entries.push_back(
        with_context([&] { return concat("in tensor '", name, "'"); }, [&] { return read_entry(name, value); }));
  }
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t expected = 0;
  for (const Entry& entry : entries) {
    QUENCH_CHECK(entry.begin == expected, "tensor '", entry.name, "' begins at byte ", entry.begin, " of the data; ",
                 expected, " was expected (no gap, no overlap)");
    expected = entry.end;
  }
  QUENCH_CHECK(expected == data_bytes, "the header describes ", expected, " bytes of data; the file has ", data_bytes);
  return entries;
}

std::uint64_t file_size(std::istream& file) {
  file.seekg(0, std::ios::end);
  const auto size = static_cast<std::uint64_t>(file.tellg());
  file.seekg(0);
  return size;
}

TensorMap read_tensors(std::istream& file) {
  const std::uint64_t size = file_size(file);
  QUENCH_CHECK(size >= 8, "it has ", size, " bytes, too few for a header");
  std::uint64_t length = 0;
  file.read(reinterpret_cast<char*>(&length), sizeof(length));
  QUENCH_CHECK(length <= kMaxHeaderBytes && length <= size - 8, "its header claims ", length, " bytes; the file has ",
               size);
  std::string text(length, '\0');
  file.read(text.data(), static_cast<std::streamsize>(length));
  QUENCH_CHECK(file, "it cannot be read");
  TensorMap tensors;
  for (const Entry& entry : read_entries(parse_header(text), size - 8 - length)) {
    at::Tensor tensor = at::empty(entry.shape, entry.dtype);
    file.read(static_cast<char*>(tensor.data_ptr()), static_cast<std::streamsize>(entry.end - entry.begin));
    QUENCH_CHECK(file, "it ends inside tensor '", entry.name, "'");
    tensors.emplace(entry.name, tensor);
  }
  return tensors;
}

void write_tensors(const TensorMap& tensors, const std::map<std::string, std::string>& metadata,
                   const std::function<void(const void* data, std::size_t count)>& write) {
  json header = json::object();
  if (!metadata.empty()) header[kMetadata] = metadata;
  std::uint64_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    QUENCH_CHECK(name != kMetadata, "a tensor cannot be named '", kMetadata, "' in a safetensors file");
    const std::uint64_t end = offset + tensor.nbytes();
    header[name] = {
        {"dtype", name_of(tensor.scalar_type())}, {"shape", tensor.sizes()}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // so that the data is aligned
  const std::uint64_t length = text.size();
  write(&length, sizeof(length));
  write(text.data(), text.size());
  for (const auto& [name, tensor] : tensors) {
    const at::Tensor plain = tensor.detach().cpu().contiguous();
    write(plain.data_ptr(), plain.nbytes());
  }
}

}  // namespace

TensorMap read_safetensors(const std::string& path) {
  return with_context([&] { return concat("while reading the weights in '", path, "'"); },
                      [&] {
                        std::ifstream file(path, std::ios::binary);
                        QUENCH_CHECK(file, "cannot open '", path, "': ", std::strerror(errno));
                        return read_tensors(file);
                      });
}

TensorMap tensors_of_bytes(const std::string& bytes) {
  std::istringstream stream(bytes);
  return read_tensors(stream);
}

std::string safetensors_bytes(const TensorMap& tensors, const std::map<std::string, std::string>& metadata) {
  std::string bytes;
  write_tensors(tensors, metadata,
                [&](const void* data, std::size_t count) { bytes.append(static_cast<const char*>(data), count); });
  return bytes;
}

void write_safetensors(const std::string& path, const TensorMap& tensors,
                       const std::map<std::string, std::string>& metadata) {
  AtomicFile file(path);
  write_tensors(tensors, metadata, [&](const void* data, std::size_t count) { file.write(data, count); });
  file.commit();
}

}  // namespace quench
