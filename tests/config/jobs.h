// Short ways to read a config in a test.
#pragma once

#include <gtest/gtest.h>

#include "data/files.h"
#include "quench/config.h"

namespace quench {

inline JobConfig job_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return config_from_text(text, overrides, "job.yaml");
}

inline std::string refused(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return message_of([&] { job_of(text, overrides); });
}

// The job must survive being written in quench's own schema and read again.
inline void expect_same_again(const JobConfig& job) {
  EXPECT_EQ(to_yaml(config_from_text(to_yaml(job), {}, "again.yaml")), to_yaml(job));
}

}  // namespace quench
