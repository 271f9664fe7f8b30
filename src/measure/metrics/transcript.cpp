#include "measure/metrics/transcript.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <sstream>

#include "core/joined.h"
#include "core/utf8.h"
#include "data/top_classes.h"
#include "quench/error.h"

namespace quench {
namespace {

constexpr const char* kWordStart = "\xE2\x96\x81";  // SentencePiece's mark for a space before a token

std::vector<std::string> read_vocabulary(const std::string& path) {
  std::vector<std::string> tokens;
  if (path.empty()) return tokens;
  std::ifstream file(path);
  QUENCH_CHECK(file.is_open(), "cannot read the vocabulary '", path, "'");
  for (std::string line; std::getline(file, line);) {
    if (line.ends_with('\r')) line.pop_back();
    QUENCH_CHECK(!first_not_utf8(line), "line ", tokens.size() + 1, " of the vocabulary '", path,
                 "' is not UTF-8: convert the file (iconv -t UTF-8)");
    tokens.push_back(std::move(line));
  }
  QUENCH_CHECK(!tokens.empty(), "the vocabulary '", path, "' is empty");
  return tokens;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; !from.empty() && (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

std::vector<std::string> split_words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// Code points of UTF-8. Spaces between words count as one, those around the text not at all.
std::vector<std::string> split_characters(const std::string& text) {
  std::vector<std::string> characters;
  for (const char byte : joined(split_words(text), " ")) {
    const bool goes_on = (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U && !characters.empty();
    if (goes_on)
      characters.back() += byte;
    else
      characters.emplace_back(1, byte);
  }
  return characters;
}

std::vector<std::string> numbers_as_texts(const std::vector<std::int64_t>& ids) {
  std::vector<std::string> texts;
  for (const std::int64_t id : ids) texts.push_back(std::to_string(id));
  return texts;
}

std::vector<std::int64_t> integers(const at::Tensor& tensor) {
  const at::Tensor flat = whole_numbers(tensor, "tokens").reshape(-1).contiguous();
  return {flat.const_data_ptr<std::int64_t>(), flat.const_data_ptr<std::int64_t>() + flat.numel()};
}

bool is_text(const at::Tensor& target) { return target.scalar_type() == at::kByte; }

}  // namespace

Transcripts::Transcripts(const Options& options)
    : output_(options.word("output")),
      target_(options.word("target")),
      space_(options.word("space")),
      vocabulary_(read_vocabulary(options.word("vocab"))),
      blank_(whole_option(options, "blank")),
      end_(whole_option(options, "end")),
      ctc_(switch_option(options, "ctc")) {
  if (!vocabulary_.empty())
    check_marks(static_cast<std::int64_t>(vocabulary_.size()), concat("the vocabulary '", options.word("vocab"), "'"));
}

void Transcripts::check_marks(std::int64_t tokens, const std::string& owner) const {
  for (const auto& [name, mark] : {std::pair{"blank", blank_}, std::pair{"end", end_}})
    QUENCH_CHECK(mark < tokens, "option '", name, "' is token ", mark, ", but ", owner, " has ", tokens,
                 " tokens, from 0 to ", tokens - 1, "; -1 is for none");
}

std::vector<OptionInfo> Transcripts::options() {
  return {{"output", std::string(), "the output: scores of [steps, tokens], or tokens; default: the first"},
          {"target", std::string(), "which target, where an item has several"},
          {"vocab", std::string(), "a text file with one token per line: its number is its line, from 0"},
          {"space", std::string("|"), "what stands for a space in the vocabulary, beside SentencePiece's mark"},
          {"ctc", 1.0, "whether a token that is repeated counts once, unless a blank is between (0 or 1)"},
          {"blank", 0.0, "the token that writes nothing; -1: none"},
          {"end", -1.0, "the token that ends a text; -1: none"}};
}

std::vector<std::int64_t> Transcripts::written_ids(const MetricItem& item) const {
  const at::Tensor& output = item.outputs.at(output_).tensor();
  const bool scores = output.is_floating_point();
  const at::Tensor squeezed = scores && output.dim() == 3 && output.size(0) == 1 ? output[0] : output;
  QUENCH_CHECK(!scores || squeezed.dim() == 2, "the output for item '", item.name, "' has the shape ", output.sizes(),
               "; scores of [steps, tokens], or tokens, were expected");
  if (scores) check_marks(squeezed.size(1), "the model's output");
  std::vector<std::int64_t> ids = integers(scores ? top_class(squeezed.to(at::kFloat)) : squeezed);
  if (end_ >= 0) ids.erase(std::find(ids.begin(), ids.end(), end_), ids.end());
  if (ctc_) ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  std::erase_if(ids, [&](std::int64_t id) { return id < 0 || id == blank_; });
  return ids;
}

// Negative ones pad.
std::vector<std::int64_t> Transcripts::reference_ids(const at::Tensor& target) const {
  std::vector<std::int64_t> ids = integers(target);
  if (end_ >= 0) ids.erase(std::find(ids.begin(), ids.end(), end_), ids.end());
  std::erase_if(ids, [](std::int64_t id) { return id < 0; });
  return ids;
}

std::string Transcripts::text_of(const std::vector<std::int64_t>& ids) const {
  std::string text;
  for (const std::int64_t id : ids) {
    QUENCH_CHECK(id < static_cast<std::int64_t>(vocabulary_.size()), "there is a token ", id,
                 ", but the vocabulary has ", vocabulary_.size());
    std::string token = vocabulary_[static_cast<std::size_t>(id)];
    if (token == space_) token = " ";
    replace_all(token, kWordStart, " ");
    text += token;
  }
  return text;
}

std::pair<std::string, std::string> Transcripts::texts(const MetricItem& item) const {
  const at::Tensor& target = target_of(item, target_);
  QUENCH_CHECK(!vocabulary_.empty(), "tokens become text by a vocabulary: give vocab=FILE, with one token per line");
  std::string reference;
  if (is_text(target))
    for (const std::int64_t byte : integers(target)) reference += static_cast<char>(byte);
  else
    reference = text_of(reference_ids(target));
  return {text_of(written_ids(item)), reference};
}

Transcripts::Pair Transcripts::words(const MetricItem& item) const {
  const auto [written, reference] = texts(item);
  return {split_words(written), split_words(reference)};
}

Transcripts::Pair Transcripts::characters(const MetricItem& item) const {
  const at::Tensor& target = target_of(item, target_);
  if (vocabulary_.empty() && !is_text(target))
    return {numbers_as_texts(written_ids(item)), numbers_as_texts(reference_ids(target))};
  const auto [written, reference] = texts(item);
  return {split_characters(written), split_characters(reference)};
}

std::int64_t edits(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::vector<std::int64_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::int64_t diagonal = row[0];
    row[0] = static_cast<std::int64_t>(i) + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::int64_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace quench
