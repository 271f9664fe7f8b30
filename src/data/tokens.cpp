// tokens: texts as little-endian uint16 token ids. With bos= a text begins at each such token; without, the
// file is one text, cut into pieces of len= tokens. mask= adds a second input: 1 where a token is real.
#include <ATen/ATen.h>

#include <algorithm>

#include "data/read_file.h"
#include "quench/data.h"

namespace quench {
namespace {

constexpr std::uintmax_t kLargestFile = std::uintmax_t{4} << 30;
constexpr std::int64_t kLongestText = std::int64_t{1} << 24;
constexpr std::int64_t kLargestId = 0xFFFF;

std::vector<std::uint16_t> read_tokens(const std::string& path) {
  const std::vector<std::uint8_t> bytes = read_file(path, kLargestFile);
  QUENCH_CHECK(bytes.size() % 2 == 0, "'", path, "' has an odd number of bytes (", bytes.size(),
               "); tokens are 16 bits each: truncated, or not such a file");
  std::vector<std::uint16_t> tokens(bytes.size() / 2);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    tokens[i] = static_cast<std::uint16_t>(bytes[2 * i] | bytes[2 * i + 1] << 8);
  }
  return tokens;
}

std::int64_t id_option(const DatasetSpec& spec, const char* key, std::int64_t otherwise) {
  const std::int64_t id = integer_option(spec, key, 0).value_or(otherwise);
  QUENCH_CHECK(id <= kLargestId, "option ", key, "=", id, " is not a 16-bit token id");
  return id;
}

std::int64_t length_of(const DatasetSpec& spec, const InputHint& hint) {
  const auto length = integer_option(spec, "len", 2);
  QUENCH_CHECK(length || hint.length > 0, "the number of tokens that the model takes is not known; give len=N");
  QUENCH_CHECK(!length || *length <= kLongestText, "option len=", *length, " is more than ", kLongestText);
  QUENCH_CHECK(!length || hint.length < 0 || *length == hint.length, "len=", *length, ", but the model takes ",
               hint.length, " tokens");
  return length.value_or(hint.length);
}

struct Text {
  std::int64_t begin = 0;
  std::int64_t length = 0;  // cut at len=
};

class Tokens : public Dataset {
 public:
  Tokens(const DatasetSpec& spec, const InputHint& hint)
      : tokens_(read_tokens(spec.path)),
        length_(length_of(spec, hint)),
        pad_(id_option(spec, "pad", 0)),
        ids_name_(text_option(spec, "ids").value_or("")),
        mask_name_(text_option(spec, "mask").value_or("")) {
    QUENCH_CHECK(mask_name_.empty() || !ids_name_.empty(), "mask=", mask_name_,
                 " makes a second input: name that of the tokens with ids=NAME");
    const auto count = static_cast<std::int64_t>(tokens_.size());
    const std::int64_t bos = id_option(spec, "bos", -1);
    QUENCH_CHECK(bos < 0 || tokens_[0] == bos, "'", spec.path, "' does not begin with token bos=", bos, " but with ",
                 tokens_[0]);
    for (std::int64_t begin = 0; begin < count;) {
      std::int64_t end = std::min(begin + length_, count);
      if (bos >= 0) end = std::find(tokens_.begin() + begin + 1, tokens_.end(), bos) - tokens_.begin();
      texts_.push_back({begin, std::min(end - begin, length_)});
      begin = end;
    }
  }
  std::int64_t size() const override { return static_cast<std::int64_t>(texts_.size()); }
  Task task() const override { return Task::kNextToken; }
  std::int64_t pad_token() const override { return pad_; }
  std::string token_input() const override { return ids_name_; }
  Sample get(std::int64_t index) const override {
    const Text& text = texts_[static_cast<std::size_t>(index)];
    at::Tensor ids = at::empty({length_}, at::kLong);
    auto* to = ids.mutable_data_ptr<std::int64_t>();
    std::copy_n(tokens_.begin() + text.begin, text.length, to);
    std::fill(to + text.length, to + length_, pad_);
    NamedValues inputs = {{ids_name_, ids}};
    if (!mask_name_.empty()) inputs[mask_name_] = at::arange(length_).lt(text.length).to(at::kLong);
    return {inputs, -1, std::to_string(index), text.length};
  }

 private:
  std::vector<std::uint16_t> tokens_;
  std::int64_t length_;
  std::int64_t pad_;
  std::string ids_name_, mask_name_;
  std::vector<Text> texts_;
};

std::unique_ptr<Dataset> open_tokens(const DatasetSpec& spec, const InputHint& hint) {
  return std::make_unique<Tokens>(spec, hint);
}

}  // namespace

QUENCH_REGISTER_DATASET("tokens", open_tokens, "texts as 16-bit token ids, scored by next-token perplexity", "bos",
                        "len", "pad", "ids", "mask")

}  // namespace quench
