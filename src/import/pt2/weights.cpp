#include "import/pt2/weights.h"

#include <ATen/ATen.h>

#include <nlohmann/json.hpp>

#include "graph/tensor_types.h"
#include "import/pt2/arguments.h"
#include "import/pt2/json.h"
#include "quench/error.h"

namespace quench {
namespace {

using nlohmann::json;

// A tensor with strides of 0 is larger than its bytes: this bounds the total of all tensors.
constexpr std::uint64_t kMaxExpansion = 256ULL << 20U;

std::vector<std::int64_t> fixed_sizes(const json& meta, const char* key) {
  std::vector<std::int64_t> result;
  for (const json& size : array_member(meta, key)) {
    const Pt2Symbol number = read_pt2_size(size);
    QUENCH_CHECK(number.dim.is_number() && number.hint >= 0, "'", key,
                 "' of a stored tensor must be fixed and not negative");
    result.push_back(number.hint);
  }
  return result;
}

// a * b + c, or false if that does not fit.
bool multiply_add(std::int64_t a, std::int64_t b, std::int64_t& c) {
  std::int64_t product = 0;
  return !__builtin_mul_overflow(a, b, &product) && !__builtin_add_overflow(product, c, &c);
}

}  // namespace

Pt2Weights::Pt2Weights(const Pt2Archive& archive) : archive_(archive) {
  weights_ = read_entries("data/weights/", archive.model() + "_weights_config.json");
  constants_ = read_entries("data/constants/", archive.model() + "_constants_config.json");
}

Pt2Weights::~Pt2Weights() = default;

Pt2Weights::Entries Pt2Weights::read_entries(const std::string& folder, const std::string& config) const {
  Entries entries;
  const std::string path = folder + config;
  if (!archive_.has(path)) {
    QUENCH_CHECK(!archive_.has(folder + archive_.model() + ".pt"), "'", folder, archive_.model(),
                 ".pt' is pickled, as torch before 2.9 did; export the model again");
    return entries;
  }
  const json parsed = parse_pt2_json(archive_.text(path), path);
  for (const auto& [name, value] : object_member(parsed, "config").items()) {
    Entry entry;
    const std::string& key = name;
    const json& payload = value;
    with_context([&] { return concat("in '", key, "' of ", path); },
                 [&] {
                   entry.member = folder + text_member(payload, "path_name");
                   const json* meta = find_member(payload, "tensor_meta");
                   if (flag_member(payload, "use_pickle", false)) entry.unreadable = "is pickled";
                   if (!meta) entry.unreadable = "is not a tensor";
                   if (!entry.unreadable.empty()) return;
                   const TypeInfo type = read_pt2_type(*meta);
                   entry.dtype = type.dtype;
                   entry.sizes = fixed_sizes(*meta, "sizes");
                   entry.strides = fixed_sizes(*meta, "strides");
                   const Pt2Symbol offset = read_pt2_size(member(*meta, "storage_offset"));
                   QUENCH_CHECK(offset.dim.is_number() && offset.hint >= 0, "a storage offset of ", offset.hint);
                   entry.offset = offset.hint;
                   QUENCH_CHECK(entry.sizes.size() == entry.strides.size(), entry.sizes.size(), " sizes but ",
                                entry.strides.size(), " strides");
                 });
    entries[key] = std::move(entry);
  }
  return entries;
}

const Pt2Weights::Entry& Pt2Weights::entry_of(const std::string& name, bool is_weight) const {
  const Entries& entries = is_weight ? weights_ : constants_;
  const auto at = entries.find(name);
  QUENCH_CHECK(at != entries.end(), "the archive holds no ", is_weight ? "weight" : "constant", " '", name, "'");
  QUENCH_CHECK(at->second.unreadable.empty(), "'", name, "' ", at->second.unreadable, ", which is not supported");
  return at->second;
}

std::string Pt2Weights::identity(const std::string& name, bool is_weight) const {
  const Entry& entry = entry_of(name, is_weight);
  std::string text = concat(entry.member, " ", name_of(entry.dtype), " ", entry.offset);
  for (std::size_t i = 0; i < entry.sizes.size(); ++i) text += concat(" ", entry.sizes[i], "/", entry.strides[i]);
  return text;
}

const at::Tensor& Pt2Weights::bytes_of(const std::string& member) {
  std::unique_ptr<at::Tensor>& bytes = bytes_[member];
  if (!bytes) {
    const std::uint64_t size = archive_.size(member);
    read_ += size;
    QUENCH_CHECK(read_ <= archive_.file_size(), "the members of the archive overlap: '", member, "'");
    at::Tensor data = at::empty({static_cast<std::int64_t>(size)}, at::kByte);
    archive_.read(member, data.data_ptr(), size);
    bytes = std::make_unique<at::Tensor>(data);
  }
  return *bytes;
}

at::Tensor Pt2Weights::read(const std::string& name, const Entry& entry) {
  const at::ScalarType type = scalar_type_of(entry.dtype == DType::kBool ? DType::kUint8 : entry.dtype);
  const auto width = static_cast<std::int64_t>(c10::elementSize(type));
  std::int64_t count = 1, last = entry.offset;
  bool fits = true;
  for (std::size_t i = 0; i < entry.sizes.size(); ++i) {
    std::int64_t product = 0;
    fits = fits && multiply_add(count, entry.sizes[i], product);
    count = product;
    fits = fits && (entry.sizes[i] == 0 || multiply_add(entry.sizes[i] - 1, entry.strides[i], last));
  }
  const at::Tensor& bytes = bytes_of(entry.member);
  const std::int64_t held = bytes.numel() / width;
  QUENCH_CHECK(fits && (count == 0 || last < held), "'", name, "' reaches beyond the ", bytes.numel(), " bytes of '",
               entry.member, "'");
  const auto options = at::TensorOptions().dtype(type);
  if (count == 0) return at::empty(entry.sizes, options.dtype(scalar_type_of(entry.dtype)));
  at::Tensor tensor = at::empty({0}, options);
  tensor.set_(bytes.storage(), entry.offset, entry.sizes, entry.strides);
  if (!tensor.is_contiguous()) {
    copied_ += static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(width);
    QUENCH_CHECK(count <= held || copied_ <= kMaxExpansion, "'", name, "' repeats its ", bytes.numel(),
                 " bytes to more than ", kMaxExpansion, " bytes");
    tensor = tensor.contiguous();
  }
  // Bytes of a bool may hold anything.
  return entry.dtype == DType::kBool ? tensor.ne(0) : tensor;
}

at::Tensor Pt2Weights::weight(const std::string& name) { return read(name, entry_of(name, true)); }
at::Tensor Pt2Weights::constant(const std::string& name) { return read(name, entry_of(name, false)); }

}  // namespace quench
