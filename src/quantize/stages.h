// The stages of a job, one after the other: how long each took and how much memory it needed; where to stop.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "quench/quantize.h"

namespace quench {

// Throws, with the nearest, for an unknown name.
void check_stage(const std::string& name);
bool comes_after(const std::string& stage, const std::string& other);

class Stages {
 public:
  // Ends after the stage of this name, whether it runs or not ("": after all); `before` is called before each that
  // runs, `after` after it.
  explicit Stages(std::string stop_after = "", std::function<void(const StageRecord& stage)> after = {},
                  std::function<void(const std::string& stage)> before = {});

  // Does nothing if the stage comes after the last one. Errors pass through unchanged.
  void run(const std::string& name, const std::function<void()>& body);
  bool reaches(const std::string& name) const;  // whether run() would do something
  bool ended() const { return ended_; }         // whether a stage was left out
  const std::vector<StageRecord>& records() const { return records_; }

 private:
  std::string stop_after_;
  std::function<void(const StageRecord&)> after_;
  std::function<void(const std::string&)> before_;
  bool ended_ = false;
  std::vector<StageRecord> records_;
};

std::int64_t resident_bytes();       // of this process now; 0 if the system does not tell
std::int64_t peak_resident_bytes();  // since the start, or since reset_peak()
void reset_peak();                   // where the system allows it

}  // namespace quench
