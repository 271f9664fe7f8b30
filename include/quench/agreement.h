// Whether a quantized network still agrees with its float original, on a few items of the calibration data. Needs no
// labels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "quench/data.h"
#include "quench/graph.h"

namespace quench {

struct AgreementRecord {
  std::int64_t items = 0;
  std::int64_t rows = 0, same = 0;  // rows of scores in the first output, and those with the same largest one
  double sqnr = 0.0;                // of the first output, in dB; infinite if they are equal

  // Even the upper end of the 95 % interval of the share that agrees lies below 3/4, or the error has more than half of
  // the scores' power; without scores: more than a tenth of the output's.
  bool fallen_apart() const;
};

struct AgreementOptions {
  std::int64_t items = 32;  // at most
  int workers = 1;
  bool skip_broken = false;
  std::string device = "cpu";
};

// Both graphs, ready to run. Scores are a floating first output of two dims or more with more than one class
// (the last dim).
AgreementRecord agreement(const Graph& plain, const Graph& quantized, const Dataset& data,
                          const AgreementOptions& options = {});

// "31 of 32 ... (SQNR 18.3 dB)"; `item` is what the data is made of.
std::string agreement_text(const AgreementRecord& record, const std::string& item = "item");

}  // namespace quench
