#include "zoo/torch_file.h"

#include <ATen/ATen.h>

#include "graph/tensor_extent.h"
#include "quench/error.h"
#include "quench/state_dict.h"
#include "zoo/pickle_globals.h"

namespace quench {
namespace {

using Kind = PickleValue::Kind;

constexpr std::size_t kMaxRank = 64;  // LibTorch's own bound

TensorMap tensors_of(TorchFile& file) {
  TensorMap result;
  for (const TorchFile::Entry& entry : file.entries()) {
    const Kind kind = entry.value->kind;
    QUENCH_CHECK(kind != Kind::kCodes, "entry '", entry.name,
                 "' is a quantized tensor: the file is of a converted network, which load_quantized_state takes");
    QUENCH_CHECK(kind == Kind::kTensor, "entry '", entry.name, "' is ", name_of(kind),
                 ", not a tensor; a state dict maps names to tensors, alone or under 'state_dict', "
                 "'model_state_dict' or 'model'");
    result[entry.name] =
        with_context([&] { return concat("in tensor '", entry.name, "'"); }, [&] { return file.tensor(*entry.value); });
  }
  return result;
}

}  // namespace

TorchFile::TorchFile(const std::string& path) : archive_(open_torch_archive(path)) {}

std::vector<TorchFile::Entry> TorchFile::entries() const {
  std::vector<Entry> list;
  const PickleValue& dict = state_dict();
  for (std::size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    const PickleValue& key = at(dict.items[i]);
    QUENCH_CHECK(key.kind == Kind::kString, "a name in the state dict is ", name_of(key.kind), ", not a string");
    list.push_back({key.text, &at(dict.items[i + 1])});
  }
  return list;
}

const PickleValue& TorchFile::state_dict() const {
  const PickleValue& root = at(archive_->tree().root);
  QUENCH_CHECK(root.kind == Kind::kDict, "it holds ", name_of(root.kind),
               "; a state dict (a dict of names and tensors) was expected");
  for (const char* name : {"state_dict", "model_state_dict", "model"}) {
    for (std::size_t i = 0; i + 1 < root.items.size(); i += 2) {
      const PickleValue& value = at(root.items[i + 1]);
      if (at(root.items[i]).text == name && value.kind == Kind::kDict) return value;
    }
  }
  return root;
}

at::Tensor TorchFile::tensor(const PickleValue& value) {
  const std::vector<std::int64_t> sizes = integers(value.items[1]), strides = integers(value.items[2]);
  QUENCH_CHECK(sizes.size() == strides.size() && sizes.size() <= kMaxRank, "it has ", sizes.size(), " sizes and ",
               strides.size(), " strides");
  at::Tensor storage = this->storage(at(value.items[0]));
  if (value.items.size() == 4) storage = storage.view(*torch_dtype(at(value.items[3]).text));
  QUENCH_CHECK(fits_storage(sizes, strides, value.number, storage.numel()), "shape ", at::IntArrayRef(sizes),
               " with strides ", at::IntArrayRef(strides), " at offset ", value.number, " does not fit its storage of ",
               storage.numel(), " elements");
  return storage.as_strided(sizes, strides, value.number);
}

std::vector<std::int64_t> TorchFile::integers(int index) const {
  std::vector<std::int64_t> numbers;
  for (const int item : at(index).items) {
    const PickleValue& value = at(item);
    QUENCH_CHECK(value.kind == Kind::kInt && value.number >= 0, "a size or stride is ", name_of(value.kind), " (",
                 value.number, "), not a count");
    numbers.push_back(value.number);
  }
  return numbers;
}

// Read once, however many tensors share it. All storages together cannot exceed the file.
const at::Tensor& TorchFile::storage(const PickleValue& value) {
  const at::ScalarType dtype = *storage_dtype(at(value.items[0]).text);
  const auto [found, added] = storages_.try_emplace(value.text);
  if (!added) {
    QUENCH_CHECK(found->second.scalar_type() == dtype, "storage '", value.text, "' is used as two types");
    return found->second;
  }
  const std::uint64_t size = archive_->storage_bytes(value.text), width = c10::elementSize(dtype);
  QUENCH_CHECK(value.number >= 0 && static_cast<std::uint64_t>(value.number) == size / width && size % width == 0,
               "storage '", value.text, "' claims ", value.number, " elements of ", width, " bytes; it has ", size,
               " bytes");
  read_bytes_ += size;
  QUENCH_CHECK(read_bytes_ <= archive_->file_size(), "its storages overlap: together they are larger than the file");
  found->second = at::empty({value.number}, dtype);
  archive_->read_storage(value.text, found->second.data_ptr(), size);
  return found->second;
}

TensorMap read_torch_file(const std::string& path) {
  return with_context([&] { return concat("while reading the weights in '", path, "'"); },
                      [&] {
                        TorchFile file(path);
                        return tensors_of(file);
                      });
}

TensorMap read_state_dict(const std::string& path) {
  const std::string start = first_bytes(path, 16);
  if (is_torch_file(start)) return read_torch_file(path);
  if (start.size() > 8 && start[8] == '{') return read_safetensors(path);
  fail("'", path, "' holds no weights: it is neither a file of torch.save (.pt, .pth) nor a safetensors file");
}

}  // namespace quench
