#include "qat/training_log.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/atomic_file.h"
#include "quench/error.h"

namespace quench {
namespace {

using Json = nlohmann::json;
constexpr const char* kStepsHeader = "step,epoch,loss,learning_rate\n";
constexpr const char* kEpochsHeader = "step,epoch,loss,validation,validation_float,seconds\n";

// The lines of an earlier run up to a step; those after it are made again.
template <typename StepOf>
std::string kept_lines(const std::filesystem::path& path, std::int64_t last, const StepOf& step_of) {
  std::ifstream file(path);
  std::string kept;
  for (std::string line; std::getline(file, line);)
    if (const std::int64_t step = step_of(line); step >= 0 && step <= last) kept += line + "\n";
  return kept;
}

std::int64_t csv_step(const std::string& line) {
  return line.empty() || line[0] < '0' || line[0] > '9' ? -1 : std::stoll(line);
}

std::int64_t json_step(const std::string& line) {
  const Json object = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  return object.is_object() ? object.value("step", std::int64_t{-1}) : -1;
}

std::ofstream opened(const std::filesystem::path& path, const std::string& begin) {
  write_file_atomically(path.string(), begin);
  return std::ofstream(path, std::ios::app);
}

}  // namespace

TrainingLog::TrainingLog(const std::string& folder, std::int64_t resumed_from) {
  if (folder.empty()) return;
  const std::filesystem::path path(folder);
  QUENCH_CHECK(!std::filesystem::exists(path) || std::filesystem::is_directory(path), "'", folder,
               "' is a file; training keeps its checkpoints and logs in a folder of that name");
  std::filesystem::create_directories(path);
  const bool resumes = resumed_from > 0;
  const auto table = [&](const char* name, const char* header) {
    return opened(path / name, header + (resumes ? kept_lines(path / name, resumed_from, csv_step) : std::string()));
  };
  steps_ = table("steps.csv", kStepsHeader);
  epochs_ = table("epochs.csv", kEpochsHeader);
  json_ = opened(path / "log.jsonl", resumes ? kept_lines(path / "log.jsonl", resumed_from, json_step) : "");
  events_ = std::make_unique<EventFile>(folder, resumed_from);
}

void TrainingLog::start(double score) {
  if (!events_) return;
  epochs_ << "0,0,," << score << ",," << std::endl;
  json_ << Json({{"step", 0}, {"epoch", 0}, {"validation", score}}).dump() << std::endl;
  events_->add("validation/quantized", score, 0);
}

void TrainingLog::step(std::int64_t step, int epoch, double loss, double rate) {
  if (!events_) return;
  steps_ << step << "," << epoch << "," << loss << "," << rate << std::endl;
  json_ << Json({{"step", step}, {"epoch", epoch}, {"loss", loss}, {"learning_rate", rate}}).dump() << std::endl;
  events_->add("train/loss", loss, step);
  events_->add("train/learning_rate", rate, step);
}

void TrainingLog::epoch(const TrainEpoch& epoch, std::int64_t step) {
  if (!events_) return;
  const auto or_nothing = [](std::optional<double> score) { return score ? concat(*score) : ""; };
  epochs_ << step << "," << epoch.epoch << "," << epoch.loss << "," << or_nothing(epoch.quantized) << ","
          << or_nothing(epoch.in_float) << "," << epoch.seconds << std::endl;
  Json line = {{"step", step}, {"epoch", epoch.epoch}, {"epoch_loss", epoch.loss}, {"seconds", epoch.seconds}};
  events_->add("epoch/loss", epoch.loss, step);
  if (epoch.quantized) {
    line["validation"] = *epoch.quantized;
    events_->add("validation/quantized", *epoch.quantized, step);
  }
  if (epoch.in_float) {
    line["validation_float"] = *epoch.in_float;
    events_->add("validation/float", *epoch.in_float, step);
  }
  json_ << line.dump() << std::endl;
}

}  // namespace quench
