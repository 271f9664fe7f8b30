// A short reconstruction of the demo's network, as arguments of the program.
#pragma once

#include "cli/demo.h"

namespace quench {

inline std::vector<std::string> job(const std::string& out, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"quantize",
                                        demo_model(),
                                        "--platform",
                                        "academic",
                                        "--bits",
                                        "w3a4",
                                        "--method",
                                        "qdrop",
                                        "--set",
                                        "method.max_count=60",
                                        "--set",
                                        "method.batch=16",
                                        "--calib",
                                        demo_data(0, 48),
                                        "--profile",
                                        "0",
                                        "--no-deploy",
                                        "-o",
                                        out,
                                        "--threads",
                                        "1"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

}  // namespace quench
