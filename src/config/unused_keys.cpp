#include "config/unused_keys.h"

#include "quench/error.h"

namespace quench {
namespace {

// quench's own 'train' means just that. mmrazor's configs carry the loops of the configs they came from; one that
// trains with quantizers says so by its type. MQBench's 'train' are arguments of the Transformers library.
bool asks_for_training(const JobConfig& job, const KeptKey& kept) {
  if (kept.stage != JobStage::kTrain) return false;
  if (job.layout == "quench" || kept.key.starts_with("quench.")) return true;
  return kept.key == "train_cfg.type" &&
         (kept.value.find("QAT") != std::string::npos || kept.value.find("LSQ") != std::string::npos);
}

std::string keys_of(const JobConfig& job, JobStage stage) {
  std::string keys;
  for (const KeptKey& kept : job.kept)
    if (kept.stage == stage && kept.value != "null" && kept.value != "~")
      keys += concat(keys.empty() ? "'" : ", '", kept.key, "'");
  return keys;
}

}  // namespace

std::vector<std::string> unused_keys(const JobConfig& job) {
  for (const KeptKey& kept : job.kept)
    QUENCH_CHECK(!asks_for_training(job, kept), "the config asks for training ('", kept.key, "' ", kept.where,
                 "), which 'quantize' does not do: omit the training keys for post-training quantization");
  std::vector<std::string> notes;
  if (const std::string keys = keys_of(job, JobStage::kTrain); !keys.empty())
    notes.push_back(keys + ": training keys have no effect on post-training quantization");
  if (const std::string keys = keys_of(job, JobStage::kTrace); !keys.empty())
    notes.push_back(keys +
                    ": keys for tracing a Python model; they have no effect on a model file, which is used as is");
  return notes;
}

}  // namespace quench
