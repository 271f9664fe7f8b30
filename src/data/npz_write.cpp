// write_npz: a zip of .npy files, made in memory, as numpy.load reads it.
#include <ATen/ATen.h>
#include <zip.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "core/atomic_file.h"
#include "data/npy.h"
#include "quench/error.h"
#include "quench/npz.h"

namespace quench {
namespace {

// 1 January 1980, the first day that a zip can say: same arrays, same bytes.
constexpr zip_uint16_t kFirstDate = 0x21;

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_source_t* source) const { zip_source_free(source); }
};
using Archive = std::unique_ptr<zip_t, Discard>;
using Source = std::unique_ptr<zip_source_t, Discard>;

// The bytes of one .npy file. libzip takes it over and frees it.
Source source_of(zip_t* archive, const RtValue& value) {
  QUENCH_CHECK(value.is_tensor(), "it is ", value.is_sequence() ? "a sequence" : "nothing",
               "; an .npz file holds only tensors");
  const std::string header = npy_header(value);
  const at::Tensor tensor = value.tensor().detach().resolve_conj().resolve_neg().cpu().contiguous();
  const std::size_t size = header.size() + tensor.nbytes();
  auto* bytes = static_cast<char*>(std::malloc(size));
  QUENCH_CHECK(bytes != nullptr, "no memory for its ", size, " bytes");
  std::memcpy(bytes, header.data(), header.size());
  if (tensor.nbytes() > 0) std::memcpy(bytes + header.size(), tensor.const_data_ptr(), tensor.nbytes());
  Source source(zip_source_buffer(archive, bytes, size, 1));
  if (source == nullptr) std::free(bytes);
  QUENCH_CHECK(source != nullptr, "cannot pack it: ", zip_strerror(archive));
  return source;
}

void add_array(zip_t* archive, const std::string& name, const RtValue& value, NpzCompression compression) {
  Source source = source_of(archive, value);
  const zip_int64_t index = zip_file_add(archive, (name + ".npy").c_str(), source.get(), ZIP_FL_ENC_UTF_8);
  QUENCH_CHECK(index >= 0, "cannot pack it: ", zip_strerror(archive));
  source.release();  // the archive's from here on
  const auto at = static_cast<zip_uint64_t>(index);
  const zip_int32_t method = compression == NpzCompression::kDeflate ? ZIP_CM_DEFLATE : ZIP_CM_STORE;
  QUENCH_CHECK(
      zip_set_file_compression(archive, at, method, 0) == 0 && zip_file_set_dostime(archive, at, 0, kFirstDate, 0) == 0,
      "cannot pack it: ", zip_strerror(archive));
}

void write_all(AtomicFile& file, zip_source_t* packed) {
  QUENCH_CHECK(zip_source_open(packed) == 0, "cannot read the packed arrays back");
  std::vector<char> block(std::size_t{1} << 20);
  for (;;) {
    const zip_int64_t found = zip_source_read(packed, block.data(), block.size());
    QUENCH_CHECK(found >= 0, "cannot read the packed arrays back");
    if (found == 0) break;
    file.write(block.data(), static_cast<std::size_t>(found));
  }
  zip_source_close(packed);
}

void write_archive(const std::string& path, const std::map<std::string, RtValue>& arrays, NpzCompression compression) {
  QUENCH_CHECK(!arrays.empty(), "there are no arrays to write");
  AtomicFile file(path);
  zip_error_t error;
  zip_error_init(&error);
  const Source packed(zip_source_buffer_create(nullptr, 0, 0, &error));
  QUENCH_CHECK(packed != nullptr, "no memory for the zip");
  Archive archive(zip_open_from_source(packed.get(), ZIP_TRUNCATE, &error));
  QUENCH_CHECK(archive != nullptr, "cannot begin a zip: ", zip_error_strerror(&error));
  zip_source_keep(packed.get());  // zip_close lets go of its own share
  for (const auto& [name, value] : arrays) {
    with_context([&] { return concat("in the array '", name, "'"); },
                 [&] { add_array(archive.get(), name, value, compression); });
  }
  QUENCH_CHECK(zip_close(archive.get()) == 0, "cannot pack the arrays: ", zip_strerror(archive.get()));
  archive.release();
  write_all(file, packed.get());
  file.commit();
}

}  // namespace

void write_npz(const std::string& path, const std::map<std::string, RtValue>& arrays, NpzCompression compression) {
  with_context([&] { return concat("while writing '", path, "'"); }, [&] { write_archive(path, arrays, compression); });
}

}  // namespace quench
