// Names that MQBench, mmrazor and torch give to what is registered here (docs/config.md).
#pragma once

#include <string>

#include "quench/options.h"

namespace quench {

// "min_max", "MinMaxObserver", "MinMax", "mmrazor.PerChannelMinMaxObserver" -> "min_max". Throws with the nearest.
std::string observer_name(const std::string& given);
// "lsq", "LearnableFakeQuantize", "Learnable" -> "lsq".
std::string fake_quant_name(const std::string& given);
// "lsq_epoch", "LSQEpochBasedLoop", "mmrazor.LSQEpochBasedLoop" -> "lsq_epoch".
std::string train_loop_name(const std::string& given);
bool is_train_loop(const std::string& given);  // else mmengine's loops and those of other tasks

// Options of the class where the config gives none: torch's moving averages weight the new value by 0.01.
Options with_class_defaults(const std::string& class_name, Options given);
bool says_per_channel(const std::string& class_name);  // torch's and mmrazor's classes carry it in their name
std::string without_scope(const std::string& name);    // "mmrazor.X", "mmrazor::X" -> "X"

}  // namespace quench
