// read_torch_file: a zip of torch.save. "NAME/data.pkl" says which tensors there are, "NAME/data/KEY" are
// their storages; several tensors may look into one storage.
#include <ATen/ATen.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "core/zip_archive.h"
#include "graph/tensor_extent.h"
#include "quench/error.h"
#include "quench/state_dict.h"
#include "zoo/pickle.h"
#include "zoo/pickle_globals.h"

namespace quench {
namespace {

using Kind = PickleValue::Kind;

constexpr std::uint64_t kMaxPickleBytes = 64 << 20;
constexpr std::size_t kMaxRank = 64;  // LibTorch's own bound

class TorchFile {
 public:
  explicit TorchFile(const std::string& path) : zip_(path), prefix_(find_prefix()) {
    check_byte_order();
    tree_ = read_pickle(read_text("data.pkl", kMaxPickleBytes));
  }

  TensorMap tensors() {
    TensorMap result;
    const PickleValue& dict = state_dict();
    for (std::size_t i = 0; i + 1 < dict.items.size(); i += 2) {
      const PickleValue& key = tree_.at(dict.items[i]);
      QUENCH_CHECK(key.kind == Kind::kString, "a name in the state dict is ", name_of(key.kind), ", not a string");
      const PickleValue& value = tree_.at(dict.items[i + 1]);
      QUENCH_CHECK(value.kind == Kind::kTensor, "entry '", key.text, "' is ", name_of(value.kind),
                   ", not a tensor; a state dict maps names to tensors, alone or under 'state_dict', "
                   "'model_state_dict' or 'model'");
      result[key.text] =
          with_context([&] { return concat("in tensor '", key.text, "'"); }, [&] { return tensor(value); });
    }
    return result;
  }

 private:
  std::string find_prefix() const {
    std::string found;
    for (const std::string& name : zip_.names()) {
      if (name == "constants.pkl" || name.ends_with("/constants.pkl"))
        fail("it is a TorchScript archive, not a state dict; save module.state_dict() with torch.save instead");
      if (!name.ends_with("/data.pkl") || name.find('/') != name.size() - 9) continue;
      QUENCH_CHECK(found.empty(), "it holds two pickles, '", found, "data.pkl' and '", name, "'");
      found = name.substr(0, name.size() - 8);
    }
    QUENCH_CHECK(!found.empty(), "it is a zip without a 'data.pkl': not written by torch.save");
    return found;
  }

  std::string read_text(const std::string& member, std::uint64_t limit) const {
    const std::string name = prefix_ + member;
    const std::uint64_t size = zip_.size(name);
    QUENCH_CHECK(size <= limit, "'", name, "' has ", size, " bytes; ", limit, " at most");
    std::string text(size, '\0');
    zip_.read(name, text.data(), size);
    return text;
  }

  void check_byte_order() const {
    if (!zip_.has(prefix_ + "byteorder")) return;  // older files are little-endian
    const std::string order = read_text("byteorder", 16);
    QUENCH_CHECK(order == "little", "its byte order is '", order, "'; only little-endian files are read");
  }

  const PickleValue& state_dict() const {
    const PickleValue& root = tree_.at(tree_.root);
    QUENCH_CHECK(root.kind == Kind::kDict, "it holds ", name_of(root.kind),
                 "; a state dict (a dict of names and tensors) was expected");
    for (const char* name : {"state_dict", "model_state_dict", "model"}) {
      for (std::size_t i = 0; i + 1 < root.items.size(); i += 2) {
        const PickleValue& value = tree_.at(root.items[i + 1]);
        if (tree_.at(root.items[i]).text == name && value.kind == Kind::kDict) return value;
      }
    }
    return root;
  }

  at::Tensor tensor(const PickleValue& value) {
    const std::vector<std::int64_t> sizes = integers(value.items[1]), strides = integers(value.items[2]);
    QUENCH_CHECK(sizes.size() == strides.size() && sizes.size() <= kMaxRank, "it has ", sizes.size(), " sizes and ",
                 strides.size(), " strides");
    at::Tensor storage = this->storage(tree_.at(value.items[0]));
    if (value.items.size() == 4) storage = storage.view(*torch_dtype(tree_.at(value.items[3]).text));
    QUENCH_CHECK(fits_storage(sizes, strides, value.number, storage.numel()), "shape ", at::IntArrayRef(sizes),
                 " with strides ", at::IntArrayRef(strides), " at offset ", value.number,
                 " does not fit its storage of ", storage.numel(), " elements");
    return storage.as_strided(sizes, strides, value.number);
  }

  std::vector<std::int64_t> integers(int index) const {
    std::vector<std::int64_t> numbers;
    for (const int item : tree_.at(index).items) {
      const PickleValue& value = tree_.at(item);
      QUENCH_CHECK(value.kind == Kind::kInt && value.number >= 0, "a size or stride is ", name_of(value.kind), " (",
                   value.number, "), not a count");
      numbers.push_back(value.number);
    }
    return numbers;
  }

  // Read once, however many tensors share it. All storages together cannot exceed the file.
  const at::Tensor& storage(const PickleValue& value) {
    const at::ScalarType dtype = *storage_dtype(tree_.at(value.items[0]).text);
    const auto [at, added] = storages_.try_emplace(value.text);
    if (!added) {
      QUENCH_CHECK(at->second.scalar_type() == dtype, "storage '", value.text, "' is used as two types");
      return at->second;
    }
    const std::string name = prefix_ + "data/" + value.text;
    const std::uint64_t size = zip_.size(name), width = c10::elementSize(dtype);
    QUENCH_CHECK(value.number >= 0 && static_cast<std::uint64_t>(value.number) == size / width && size % width == 0,
                 "storage '", value.text, "' claims ", value.number, " elements of ", width, " bytes; it has ", size,
                 " bytes");
    read_bytes_ += size;
    QUENCH_CHECK(read_bytes_ <= zip_.file_size(), "its storages overlap: together they are larger than the file");
    at->second = at::empty({value.number}, dtype);
    zip_.read(name, at->second.data_ptr(), size);
    return at->second;
  }

  ZipArchive zip_;
  std::string prefix_;
  PickleTree tree_;
  std::map<std::string, at::Tensor> storages_;
  std::uint64_t read_bytes_ = 0;
};

std::string first_bytes(const std::string& path, std::size_t count) {
  std::ifstream file(path, std::ios::binary);
  QUENCH_CHECK(file, "cannot open '", path, "': ", std::strerror(errno));
  std::string bytes(count, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(count));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

bool is_zip(const std::string& start) { return start.starts_with("PK"); }
bool is_bare_pickle(const std::string& start) {
  return start.size() >= 2 && start[0] == '\x80' && start[1] >= 2 && start[1] <= 5;
}

}  // namespace

TensorMap read_torch_file(const std::string& path) {
  return with_context(
      [&] { return concat("while reading the weights in '", path, "'"); },
      [&] {
        const std::string start = first_bytes(path, 16);
        if (is_bare_pickle(start))
          fail(
              "it is a legacy file of torch.save (a bare pickle, without a zip); load it in PyTorch and save it again "
              "with torch.save, or as safetensors");
        QUENCH_CHECK(is_zip(start), "it is not a zip archive as torch.save writes it");
        return TorchFile(path).tensors();
      });
}

TensorMap read_state_dict(const std::string& path) {
  const std::string start = first_bytes(path, 16);
  if (is_zip(start) || is_bare_pickle(start)) return read_torch_file(path);
  if (start.size() > 8 && start[8] == '{') return read_safetensors(path);
  fail("'", path, "' holds no weights: it is neither a zip of torch.save (.pt, .pth) nor a safetensors file");
}

}  // namespace quench
