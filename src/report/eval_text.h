// Results of evaluations for readers: JSON, and lines of text.
#pragma once

#include <string>

#include "core/decimals.h"
#include "quench/evaluate.h"
#include "quench/paired_test.h"
#include "report/json.h"

namespace quench {

Json json_of(const EvalResult& result);
Json json_of(const PairedTest& test);

// "91.73 %  (9173 of 10000; 95 % interval 91.17 to 92.26)"
std::string accuracy_text(std::int64_t correct, std::int64_t images);
// "right in this run alone 3, in that run alone 5, other class predicted 12 (McNemar's exact test: p = 0.7266)"
std::string paired_text(const PairedTest& test);

// Where there are no labels: how often a quantized network predicts what the float one does.
// "the same top-1 as in float 98.00 %  (490 of 500; ...)"
std::string agreement_text(const PairedTest& test);
Json agreement_json(const PairedTest& test);

}  // namespace quench
