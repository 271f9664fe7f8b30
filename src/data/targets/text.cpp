// text: a text file with one line per item, in their order: what was said, written or translated. UTF-8.
#include <ATen/ATen.h>

#include <cstring>
#include <fstream>

#include "core/utf8.h"
#include "quench/targets.h"

namespace quench {
namespace {

class Lines : public Targets {
 public:
  explicit Lines(const std::string& path) {
    std::ifstream file(path);
    QUENCH_CHECK(file.is_open(), "cannot read the texts '", path, "'");
    for (std::string line; std::getline(file, line);) {
      if (line.ends_with('\r')) line.pop_back();
      const auto wrong = first_not_utf8(line);
      QUENCH_CHECK(!wrong, "line ", lines_.size() + 1, " of '", path, "' is not UTF-8 (byte ", wrong.value_or(0) + 1,
                   " of the line): convert the file (iconv -t UTF-8)");
      lines_.push_back(std::move(line));
    }
  }
  std::int64_t size() const override { return static_cast<std::int64_t>(lines_.size()); }
  NamedValues get(std::int64_t index, const Sample&) const override {
    const std::string& line = lines_[static_cast<std::size_t>(index)];
    at::Tensor bytes = at::empty({static_cast<std::int64_t>(line.size())}, at::kByte);
    if (!line.empty()) std::memcpy(bytes.mutable_data_ptr(), line.data(), line.size());
    return {{"text", bytes}};
  }

 private:
  std::vector<std::string> lines_;
};

std::unique_ptr<Targets> open_text(const std::string& path) { return std::make_unique<Lines>(path); }

}  // namespace

QUENCH_REGISTER_TARGETS("text", open_text, "a text file with one line per item, in their order")

}  // namespace quench
