#include "reconstruct/row_store.h"

#include <ATen/ATen.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/temporary_folder.h"
#include "quench/error.h"

namespace quench {

struct RowPool::Usage {
  std::int64_t memory = 0, files = 0, most_memory = 0, most_files = 0;
  void add(std::int64_t& now, std::int64_t& most, std::int64_t bytes) {
    now += bytes;
    most = std::max(most, now);
  }
};

namespace {

using Usage = RowPool::Usage;
using Sizes = std::vector<std::int64_t>;

class InMemory : public RowStore {
 public:
  InMemory(const Sizes& sizes, at::ScalarType kept, at::ScalarType type, at::Device lies, at::Device device,
           std::shared_ptr<Usage> usage)
      : rows_(at::empty(sizes, at::TensorOptions().dtype(kept).device(lies))),
        type_(type),
        device_(device),
        usage_(std::move(usage)) {
    usage_->add(usage_->memory, usage_->most_memory, bytes());
  }
  ~InMemory() override { usage_->memory -= bytes(); }

  void put(std::int64_t first, const at::Tensor& rows) override { rows_.narrow(0, first, rows.size(0)).copy_(rows); }
  at::Tensor get(const at::Tensor& rows) const override {
    return rows_.index_select(0, rows.to(rows_.device())).to(device_, type_);
  }
  at::Tensor get(std::int64_t first, std::int64_t count) const override {
    return rows_.narrow(0, first, count).to(device_, type_);
  }

 private:
  std::int64_t bytes() const { return static_cast<std::int64_t>(rows_.nbytes()); }
  at::Tensor rows_;
  at::ScalarType type_;
  at::Device device_;
  std::shared_ptr<Usage> usage_;
};

// Whole transfers, whatever the system does in one go.
template <typename Call>
void transfer(char* bytes, std::int64_t count, std::int64_t offset, const char* what, Call call) {
  while (count > 0) {
    const ssize_t done = call(bytes, static_cast<std::size_t>(count), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    QUENCH_CHECK(done > 0, "cannot ", what, " a cache file: ", done < 0 ? std::strerror(errno) : "it ends too early",
                 "; caches need more room there, more memory ('max_memory'), or fewer items");
    bytes += done;
    count -= done;
    offset += done;
  }
}

int open_nameless_file(const std::string& given) {
  const std::filesystem::path folder = given.empty() ? temporary_folder() : given;
  std::filesystem::create_directories(folder);
  std::string name = (folder / "cache-XXXXXX").string();
  const int file = mkstemp(name.data());
  QUENCH_CHECK(file >= 0, "cannot create a cache file in '", folder.string(), "': ", std::strerror(errno));
  unlink(name.c_str());
  return file;
}

class InFile : public RowStore {
 public:
  InFile(const Sizes& sizes, at::ScalarType kept, at::ScalarType type, at::Device device, std::shared_ptr<Usage> usage,
         const std::string& folder)
      : sizes_(sizes),
        kept_(kept),
        type_(type),
        device_(device),
        usage_(std::move(usage)),
        file_(open_nameless_file(folder)) {
    row_bytes_ = static_cast<std::int64_t>(at::elementSize(kept));
    for (std::size_t i = 1; i < sizes_.size(); ++i) row_bytes_ *= sizes_[i];
    usage_->add(usage_->files, usage_->most_files, row_bytes_ * sizes_[0]);
  }
  ~InFile() override {
    usage_->files -= row_bytes_ * sizes_[0];
    close(file_);
  }

  void put(std::int64_t first, const at::Tensor& rows) override {
    const at::Tensor flat = rows.detach().to(at::kCPU, kept_).contiguous();
    transfer(static_cast<char*>(flat.data_ptr()), static_cast<std::int64_t>(flat.nbytes()), first * row_bytes_, "write",
             [this](char* bytes, std::size_t count, off_t offset) { return pwrite(file_, bytes, count, offset); });
  }
  at::Tensor get(const at::Tensor& rows) const override {
    const at::Tensor numbers = rows.cpu(), found = empty(numbers.numel());
    char* bytes = static_cast<char*>(found.data_ptr());
    for (std::int64_t i = 0; i < numbers.numel(); ++i) {
      read(bytes, row_bytes_, numbers.data_ptr<std::int64_t>()[i]);
      bytes += row_bytes_;
    }
    return found.to(device_, type_);
  }
  at::Tensor get(std::int64_t first, std::int64_t count) const override {
    const at::Tensor found = empty(count);
    read(static_cast<char*>(found.data_ptr()), count * row_bytes_, first);
    return found.to(device_, type_);
  }

 private:
  at::Tensor empty(std::int64_t rows) const {
    Sizes sizes = sizes_;
    sizes[0] = rows;
    return at::empty(sizes, kept_);
  }
  void read(char* bytes, std::int64_t count, std::int64_t row) const {
    transfer(bytes, count, row * row_bytes_, "read",
             [this](char* to, std::size_t size, off_t offset) { return pread(file_, to, size, offset); });
  }

  Sizes sizes_;
  at::ScalarType kept_, type_;
  at::Device device_;
  std::shared_ptr<Usage> usage_;
  int file_;
  std::int64_t row_bytes_ = 0;
};

}  // namespace

RowPool::RowPool(RowPoolOptions options) : options_(std::move(options)), usage_(std::make_shared<Usage>()) {}
RowPool::~RowPool() = default;

std::unique_ptr<RowStore> RowPool::make(std::int64_t rows, const at::Tensor& example) {
  Sizes sizes = example.sizes().vec();
  sizes.at(0) = rows;
  const at::ScalarType type = example.scalar_type();
  const at::ScalarType kept = options_.half && type == at::kFloat ? at::kBFloat16 : type;
  const at::Device device(options_.device);
  std::int64_t bytes = static_cast<std::int64_t>(at::elementSize(kept));
  for (const std::int64_t size : sizes) bytes *= size;
  if (options_.max_memory > 0 && usage_->memory + bytes > options_.max_memory)
    return std::make_unique<InFile>(sizes, kept, type, device, usage_, options_.folder);
  return std::make_unique<InMemory>(sizes, kept, type, options_.on_device ? device : at::Device(at::kCPU), device,
                                    usage_);
}

std::int64_t RowPool::most_in_memory() const { return usage_->most_memory; }
std::int64_t RowPool::most_in_files() const { return usage_->most_files; }

}  // namespace quench
