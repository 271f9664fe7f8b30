#include "import/torchscript/archive.h"

#include <ATen/ATen.h>
#include <caffe2/serialize/inline_container.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "core/zip_archive.h"
#include "import/torchscript/bounds.h"
#include "quench/error.h"

namespace quench {
namespace {

using Reader = caffe2::serialize::PyTorchStreamReader;

// Code and pickles are compressed and unpack to a few times their size; tensors are stored as they are.
constexpr std::uintmax_t kUnpackedBeyondFile = std::uintmax_t{64} << 20;

void check_is_zip(const std::string& path) {
  std::error_code error;
  QUENCH_CHECK(!std::filesystem::is_directory(path, error), "this is a folder, not a model file");
  std::ifstream file(path, std::ios::binary);
  QUENCH_CHECK(file, "the file cannot be opened");
  char magic[4] = {};
  file.read(magic, sizeof magic);
  QUENCH_CHECK(file && std::string_view(magic, 4) == std::string_view("PK\x03\x04", 4),
               "not a TorchScript file: those are zip archives (torch.jit.save of PyTorch 1.6 or later)");
}

bool is_program(const std::string& record) { return record.starts_with("code/") && record.ends_with(".py"); }

// Before LibTorch opens it: LibTorch's reader allocates what the archive claims.
void check_size(const std::string& path) {
  const ZipArchive archive(path);
  QUENCH_CHECK(archive.unpacked_size() <= archive.file_size() + kUnpackedBeyondFile, "the file unpacks into ",
               archive.unpacked_size(), " bytes, far more than its own ", archive.file_size());
}

bool is_pickle(const std::string& record) { return record.ends_with(".pkl") || record.ends_with(".debug_pkl"); }

template <typename Use>
auto with_text(Reader& reader, const std::string& record, const Use& use) {
  const auto [data, size] = reader.getRecord(record);
  return use(std::string_view(static_cast<const char*>(data.get()), size));
}

bool contains(Reader& reader, const std::string& record, std::string_view word) {
  return with_text(reader, record, [&](std::string_view text) { return text.find(word) != std::string_view::npos; });
}

void check_bounds(Reader& reader, const std::vector<std::string>& records) {
  for (const std::string& record : records) {
    with_context([&] { return concat("in '", record, "' inside the file"); },
                 [&] {
                   if (is_pickle(record)) with_text(reader, record, check_pickle_bounds);
                   if (is_program(record)) with_text(reader, record, check_program_depth);
                 });
  }
}

// LibTorch looks at the elements of these tensors while it loads them, before anyone has looked at their sizes.
void check_plain_tensors(Reader& reader, const std::vector<std::string>& records) {
  for (const std::string& record : records) {
    QUENCH_CHECK(!is_pickle(record) || !contains(reader, record, "_rebuild_sparse"), "'", record,
                 "' inside the file holds a sparse tensor and cannot be read");
  }
  QUENCH_CHECK(!reader.hasRecord("byteorder") || contains(reader, "byteorder", "little"),
               "the file is not little-endian and cannot be read");
}

// Both would run while the file is loaded, before anyone has looked at what they do.
void check_runs_nothing(Reader& reader, const std::vector<std::string>& records) {
  for (const std::string& record : records) {
    QUENCH_CHECK(!is_program(record) || !contains(reader, record, "__setstate__"), "'", record,
                 "' inside the file has a __setstate__, which would run while the file is loaded; modules that pack "
                 "their weights (PyTorch's quantized ones) are not read: save the float model");
    QUENCH_CHECK(!is_pickle(record) || !contains(reader, record, "torch.classes"), "'", record,
                 "' inside the file holds an object of a C++ class (torch.classes) and cannot be read");
  }
}

}  // namespace

bool has_torchscript_program(const std::string& path) {
  check_is_zip(path);
  check_size(path);
  Reader reader(path);
  const std::vector<std::string> records = reader.getAllRecords();
  return std::any_of(records.begin(), records.end(), is_program);
}

void check_torchscript_archive(const std::string& path) {
  QUENCH_CHECK(has_torchscript_program(path),
               "the file has no program: it holds tensors or a pickled object, as torch.save writes them; "
               "torch.jit.script(model).save(path) or torch.jit.trace(model, example).save(path) write a model");
  Reader reader(path);
  const std::vector<std::string> records = reader.getAllRecords();
  check_bounds(reader, records);
  check_plain_tensors(reader, records);
  check_runs_nothing(reader, records);
}

}  // namespace quench
