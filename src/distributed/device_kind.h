// Each process has a GPU of its own: "cuda:0" and "cuda:1" of two processes are the same choice.
#pragma once

#include <string>

namespace quench {

inline std::string device_kind(const std::string& device) { return device.substr(0, device.find(':')); }

}  // namespace quench
