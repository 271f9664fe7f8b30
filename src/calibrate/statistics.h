// What observers saw, kept in a folder: trying another observer, or other bits, then needs no new pass over the data
// if the statistic is the same (docs/formats.md). One safetensors file for each model, data and batching.
#pragma once

#include <string>

#include "calibrate/observing.h"
#include "quench/calibrate.h"

namespace quench {

class KeptStatistics {
 public:
  // The data counts as the same if the name and content of every item are.
  KeptStatistics(const Graph& graph, const Dataset& data, const CalibrationOptions& options);

  // If there is a statistic for every observer that sees data: true, they are as after that pass, and the record
  // says how much data it was. Else nothing changes.
  bool load(const Observing& observing, CalibrationRecord& record) const;
  // In addition to what is already kept.
  void save(const Observing& observing, const CalibrationRecord& record) const;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Which statistic an observer keeps: those with the same one can take over each other's state.
std::string statistic_of(const ObservedQuantizer& quantizer);

}  // namespace quench
