#include "quantize/stages.h"

#include <algorithm>
#include <chrono>
#include <fstream>

#include "quench/registry.h"

namespace quench {
namespace {

// "VmHWM:     12345 kB" of /proc/self/status.
std::int64_t status_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind(key + ":", 0) == 0) return std::stoll(line.substr(key.size() + 1)) * 1024;
  return 0;
}

}  // namespace

std::int64_t resident_bytes() { return status_bytes("VmRSS"); }
std::int64_t peak_resident_bytes() { return status_bytes("VmHWM"); }
void reset_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }  // proc(5): resets VmHWM

const std::vector<std::string>& quantize_stages() {
  static const std::vector<std::string> names = {"import",  "fuse",      "equalize",       "plan",        "smooth",
                                                 "insert",  "calibrate", "correct_biases", "reconstruct", "train",
                                                 "compare", "evaluate",  "profile",        "deploy"};
  return names;
}

void check_stage(const std::string& name) {
  const std::vector<std::string>& known = quantize_stages();
  if (std::find(known.begin(), known.end(), name) == known.end()) fail_unknown_name("stage", name, known);
}

bool comes_after(const std::string& stage, const std::string& other) {
  check_stage(stage);
  check_stage(other);
  const std::vector<std::string>& all = quantize_stages();
  return std::find(all.begin(), all.end(), stage) > std::find(all.begin(), all.end(), other);
}

Stages::Stages(std::string stop_after, std::function<void(const StageRecord&)> after,
               std::function<void(const std::string&)> before)
    : stop_after_(std::move(stop_after)), after_(std::move(after)), before_(std::move(before)) {}

bool Stages::reaches(const std::string& name) const {
  return !ended_ && (stop_after_.empty() || !comes_after(name, stop_after_));
}

void Stages::run(const std::string& name, const std::function<void()>& body) {
  ended_ = !reaches(name);
  if (ended_) return;
  if (before_) before_(name);
  reset_peak();
  const auto start = std::chrono::steady_clock::now();
  body();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  records_.push_back({name, seconds, peak_resident_bytes()});
  if (after_) after_(records_.back());
}

}  // namespace quench
