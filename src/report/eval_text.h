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
Json json_of(const PairedDifference& paired);

// "71.20 %" of a share, "0.00123 dB" of other units
std::string value_text(double value, const std::string& unit);
// "93.00 %  (744 of 800; 95 % interval 91.02 to 94.57)", "0.00123  (95 % interval 0.0011 to 0.0014; 800 items)"
std::string metric_text(const MetricResult& metric);
// "-0.25 points (95 % interval -0.63 to +0.13; p = 0.2500)"
std::string difference_text(const PairedDifference& paired, const std::string& unit);

// "91.73 %  (9173 of 10000; 95 % interval 91.17 to 92.26)"
std::string accuracy_text(std::int64_t correct, std::int64_t items);
// "right in this run alone 3, in that run alone 5, other class predicted 12 (McNemar's exact test: p = 0.7266)"
std::string paired_text(const PairedTest& test);

// Where there are no labels: how often a quantized network predicts what the float one does.
// "the same top-1 as in float 98.00 %  (490 of 500; ...)"
std::string agreement_text(const PairedTest& test);
Json agreement_json(const PairedTest& test);

}  // namespace quench
