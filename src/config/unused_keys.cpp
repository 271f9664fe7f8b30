#include "config/unused_keys.h"

#include "core/joined.h"
#include "quench/error.h"

namespace quench {
namespace {

std::string keys_of(const JobConfig& job, JobStage stage) {
  std::vector<std::string> keys;
  for (const KeptKey& kept : job.kept)
    if (kept.stage == stage && kept.value != "null" && kept.value != "~") keys.push_back(kept.key);
  return joined_in_quotes(keys);
}

}  // namespace

std::vector<std::string> unused_keys(const JobConfig& job) {
  std::vector<std::string> notes;
  if (const std::string keys = keys_of(job, JobStage::kTrain); !keys.empty())
    notes.push_back(keys + ": training keys that have no effect here");
  if (const std::string keys = keys_of(job, JobStage::kTrace); !keys.empty())
    notes.push_back(keys +
                    ": keys for tracing a Python model; they have no effect on a model file, which is used as is");
  return notes;
}

}  // namespace quench
