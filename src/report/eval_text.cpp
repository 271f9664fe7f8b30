#include "report/eval_text.h"

#include <array>
#include <cstdio>

#include "quench/error.h"

namespace quench {

Json json_of(const EvalResult& result) {
  if (result.task == Task::kNextToken) {
    return {{"texts", result.texts},
            {"tokens", result.tokens},
            {"perplexity", result.perplexity()},
            {"seconds", result.seconds},
            {"model_seconds", result.model_seconds},
            {"batch", result.batch},
            {"skipped", result.skipped}};
  }
  if (result.task == Task::kNone) {
    return {{"images", result.images},   {"labelled", false},
            {"seconds", result.seconds}, {"model_seconds", result.model_seconds},
            {"batch", result.batch},     {"skipped", result.skipped}};
  }
  const Interval interval = wilson_interval(result.correct, result.images);
  return {{"images", result.images},
          {"correct", result.correct},
          {"correct5", result.correct5},
          {"top1", result.top1()},
          {"top5", result.top5()},
          {"top1_low", interval.low},
          {"top1_high", interval.high},
          {"seconds", result.seconds},
          {"model_seconds", result.model_seconds},
          {"images_per_second", static_cast<double>(result.images) / result.seconds},
          {"batch", result.batch},
          {"skipped", result.skipped}};
}

Json json_of(const PairedTest& test) {
  const Interval interval = difference_interval(test);
  return {{"images", test.images},
          {"only_this_right", test.only_first},
          {"only_that_right", test.only_second},
          {"prediction_changed", test.changed},
          {"p_value", test.p_value},
          {"difference_low", interval.low},
          {"difference_high", interval.high}};
}

Json agreement_json(const PairedTest& test) {
  const std::int64_t equal = test.images - test.changed;
  const Interval interval = wilson_interval(equal, test.images);
  return {{"images", test.images},
          {"equal", equal},
          {"share", static_cast<double>(equal) / static_cast<double>(test.images)},
          {"share_low", interval.low},
          {"share_high", interval.high}};
}

std::string agreement_text(const PairedTest& test) {
  return concat("the same top-1 as in float ", accuracy_text(test.images - test.changed, test.images));
}

std::string accuracy_text(std::int64_t correct, std::int64_t images) {
  const Interval interval = wilson_interval(correct, images);
  const auto percent = [](double fraction) { return decimals(100 * fraction, 2); };
  return concat(percent(static_cast<double>(correct) / static_cast<double>(images)), " %  (", correct, " of ", images,
                "; 95 % interval ", percent(interval.low), " to ", percent(interval.high), ")");
}

std::string paired_text(const PairedTest& test) {
  return concat("right in this run alone ", test.only_first, ", in that run alone ", test.only_second,
                ", other class predicted ", test.changed, " (McNemar's exact test: p = ", decimals(test.p_value, 4),
                ")");
}

}  // namespace quench
