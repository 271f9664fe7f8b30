// What training reports as it goes: steps.csv, epochs.csv, log.jsonl (a JSON object per line) and TensorBoard's event
// file in one folder. A resumed run takes the logs over up to the step that it goes on from.
#pragma once

#include <fstream>
#include <memory>
#include <string>

#include "qat/event_file.h"
#include "quench/train.h"

namespace quench {

class TrainingLog {
 public:
  TrainingLog(const std::string& folder, std::int64_t resumed_from);  // folder "": writes nothing
  void start(double score);                                           // on validation data, before the first step
  void step(std::int64_t step, int epoch, double loss, double rate);
  void epoch(const TrainEpoch& epoch, std::int64_t step);

 private:
  std::ofstream steps_, epochs_, json_;
  std::unique_ptr<EventFile> events_;
};

}  // namespace quench
