// What networks write, decoded; and the distance of two texts.
#include "measure/metrics/transcript.h"

#include <filesystem>
#include <fstream>

#include "measure/metric_items.h"
#include "support/expect_error.h"

namespace quench {
namespace {

using Texts = std::vector<std::string>;

TEST(Edits, CountsInsertionsDeletionsAndSubstitutions) {
  const auto letters = [](const std::string& word) {
    Texts found;
    for (const char one : word) found.emplace_back(1, one);
    return found;
  };
  EXPECT_EQ(edits(letters("kitten"), letters("sitting")), 3);  // k-s, e-i, +g
  EXPECT_EQ(edits(letters(""), letters("abc")), 3);
  EXPECT_EQ(edits(letters("abc"), letters("")), 3);
  EXPECT_EQ(edits(letters("abc"), letters("abc")), 0);
  EXPECT_EQ(edits(letters("flaw"), letters("lawn")), 2);
}

class Vocabulary {
 public:
  explicit Vocabulary(const std::string& lines)
      : path_((std::filesystem::temp_directory_path() / ("quench-vocab-" + std::to_string(::getpid()))).string()) {
    std::ofstream(path_) << lines;
  }
  ~Vocabulary() { std::filesystem::remove(path_); }
  std::string option() const { return "vocab=" + path_; }

 private:
  std::string path_;
};

at::Tensor bytes_of(const std::string& text) {
  std::vector<std::int64_t> bytes;
  for (const char one : text) bytes.push_back(static_cast<unsigned char>(one));
  return at::tensor(bytes, at::kLong).to(at::kByte);
}

MetricItem written(const std::vector<std::int64_t>& ids, const at::Tensor& target) {
  return item_with_target(at::tensor(ids, at::kLong), target);
}

Transcripts transcripts(const std::string& options) { return Transcripts(parse_metric("cer:" + options).options); }

// blank, a, b, space, the letter e with an accent (two bytes).
const char* const kLetters = "_\na\nb\n|\n\xC3\xA9\n";

TEST(Transcripts, DecodeByCtc) {
  const Vocabulary vocabulary(kLetters);
  const auto pair =
      transcripts(vocabulary.option()).characters(written({1, 1, 0, 1, 3, 3, 0, 4, 4}, bytes_of("aa \xC3\xA9")));
  EXPECT_EQ(pair.written, (Texts{"a", "a", " ", "\xC3\xA9"}));
  EXPECT_EQ(pair.reference, pair.written);
  const auto words = transcripts(vocabulary.option()).words(written({1, 2, 3, 1}, bytes_of(" ab  b ")));
  EXPECT_EQ(words.written, (Texts{"ab", "a"}));
  EXPECT_EQ(words.reference, (Texts{"ab", "b"}));
}

TEST(Transcripts, TakeTheLargestScores) {
  const Vocabulary vocabulary(kLetters);
  const at::Tensor scores = at::one_hot(at::tensor({1, 0, 2}, at::kLong), 5).to(at::kFloat);
  EXPECT_EQ(transcripts(vocabulary.option()).characters(item_with_target(scores, bytes_of("ab"))).written,
            (Texts{"a", "b"}));
  EXPECT_EQ(transcripts(vocabulary.option()).characters(item_with_target(scores.unsqueeze(0), bytes_of("ab"))).written,
            (Texts{"a", "b"}));
  EXPECT_ERROR(transcripts(vocabulary.option()).characters(item_with_target(at::ones({4}), bytes_of("ab"))),
               "the output for item 'item' has the shape [4]; scores of [steps, tokens], or tokens, were expected");
}

TEST(Transcripts, WithoutCtcRepeatsCountAndATokenEndsTheText) {
  const Vocabulary vocabulary(
      "<pad>\n\xE2\x96\x81the\n\xE2\x96\x81"
      "cat\ns\n</s>\n");
  const auto found =
      transcripts(vocabulary.option() + ",ctc=0,end=4").words(written({1, 2, 3, 3, 4, 1}, bytes_of("the cats")));
  EXPECT_EQ(found.written, (Texts{"the", "catss"}));
}

TEST(Transcripts, CompareTokensWithoutAVocabulary) {
  const auto found = transcripts("blank=-1").characters(written({7, 7, 8}, at::tensor({7, 9, -1}, at::kLong)));
  EXPECT_EQ(found.written, (Texts{"7", "8"}));
  EXPECT_EQ(found.reference, (Texts{"7", "9"}));  // negative ones pad
  EXPECT_ERROR(transcripts("blank=-1").words(written({7}, at::tensor({7}, at::kLong))),
               "tokens become text by a vocabulary: give vocab=FILE, with one token per line");
}

TEST(Transcripts, SayWhatIsWrongWithTheVocabulary) {
  EXPECT_ERROR(transcripts("vocab=/nowhere/v.txt"), "cannot read the vocabulary '/nowhere/v.txt'");
  const Vocabulary vocabulary(kLetters);
  EXPECT_ERROR(transcripts(vocabulary.option()).words(written({9}, bytes_of("a"))),
               "there is a token 9, but the vocabulary has 5");
  EXPECT_ERROR(transcripts(vocabulary.option() + ",blank=5"), "option 'blank' is token 5, but the vocabulary '",
               "has 5 tokens, from 0 to 4; -1 is for none");
  EXPECT_ERROR(transcripts(vocabulary.option() + ",end=7"), "option 'end' is token 7, but the vocabulary '");
  EXPECT_ERROR(Transcripts(parse_metric("cer:" + Vocabulary("a\n\xF6\n").option()).options),
               "line 2 of the vocabulary '", "is not UTF-8: convert the file (iconv -t UTF-8)");
}

// Without a vocabulary, the scores say how many tokens there are.
TEST(Transcripts, MarksAreAmongTheModelsTokens) {
  const MetricItem item = item_with_target(at::rand({3, 5}), at::tensor({1, 2}, at::kLong));
  EXPECT_ERROR(transcripts("blank=5").characters(item),
               "option 'blank' is token 5, but the model's output has 5 tokens, from 0 to 4; -1 is for none");
  EXPECT_ERROR(transcripts("end=6").characters(item), "option 'end' is token 6, but the model's output has 5 tokens");
  EXPECT_ERROR(transcripts("blank=-1").characters(written({1}, at::tensor({0.5F}))),
               "tokens must be whole numbers, but one is 0.5");
}

// 'a b' written for 'a b a': one of three words is missing; then 'b' for 'a': one of one. 2 of 4 in all.
TEST(WordError, IsEditsOverTheWordsOfAllReferences) {
  const Vocabulary vocabulary(kLetters);
  const std::string wer = "wer:" + vocabulary.option(), cer = "cer:" + vocabulary.option();
  const std::vector<MetricItem> items = {written({1, 3, 2}, bytes_of("a b a")), written({2}, bytes_of("a"))};
  EXPECT_DOUBLE_EQ(value_of(wer, items), 0.5);
  // Two characters of five are missing, and one of one is wrong.
  EXPECT_DOUBLE_EQ(value_of(cer, items), 3.0 / 6);
}

}  // namespace
}  // namespace quench
