// What training did, epoch by epoch, for people and programs.
#pragma once

#include <string>

#include "quench/train.h"
#include "report/json.h"

namespace quench {

// "epoch 3 of 10: loss 0.1234, validation 91.20 %, 12.3 s"
std::string start_line(double score, const std::string& metric);  // on validation data
std::string epoch_line(const TrainEpoch& epoch, int epochs, const std::string& metric);
std::string epochs_table(const TrainRecord& record);
std::string training_summary(const TrainRecord& record);  // one line
Json json_of(const TrainRecord& record);

}  // namespace quench
