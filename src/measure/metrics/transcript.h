// What a network that writes text wrote, and what it should have: for word and character errors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "quench/metric.h"

namespace quench {

class Transcripts {
 public:
  explicit Transcripts(const Options& options);
  static std::vector<OptionInfo> options();

  const std::string& output() const { return output_; }
  // Words or characters: what was written, and what should have been.
  struct Pair {
    std::vector<std::string> written, reference;
  };
  Pair words(const MetricItem& item) const;       // needs vocab=
  Pair characters(const MetricItem& item) const;  // without vocab=: tokens

 private:
  void check_marks(std::int64_t tokens, const std::string& owner) const;  // blank= and end= are among so many
  std::vector<std::int64_t> written_ids(const MetricItem& item) const;
  std::vector<std::int64_t> reference_ids(const at::Tensor& target) const;
  std::string text_of(const std::vector<std::int64_t>& ids) const;
  std::pair<std::string, std::string> texts(const MetricItem& item) const;

  std::string output_, target_, space_;
  std::vector<std::string> vocabulary_;
  std::int64_t blank_, end_;
  bool ctc_;
};

// The least number of insertions, deletions and substitutions that make one of the other (Levenshtein).
std::int64_t edits(const std::vector<std::string>& a, const std::vector<std::string>& b);

}  // namespace quench
