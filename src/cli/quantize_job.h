// What `quench quantize` and `quench train` are told, as one value: config file, then options; checked before any work.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/quant_options.h"
#include "deploy/file_endings.h"
#include "quench/config.h"
#include "quench/import.h"
#include "quench/plan.h"
#include "quench/quantize.h"

namespace quench {

struct QuantizeArguments {
  QuantArguments quant;
  ImportOptions import;
  std::string model, calib, eval, output, plan, bias_correction, statistics, stop_after, dump_after, device = "cpu";
  std::string method, max_memory;
  std::vector<std::string> metrics;
  bool trains = false;  // 'quench train'
  std::string train, val;
  std::optional<int> epochs;
  std::optional<double> lr;
  std::optional<std::int64_t> train_batch;
  std::optional<std::uint64_t> seed;
  bool no_deploy = false, report = false, force = false, equalize = false, dry_run = false, time = false,
       skip_broken = false, resume = false;
  std::optional<bool> integer;
  std::int64_t batch = 0;
  std::int64_t profile_items = 8;
  int workers = 1;
};

void add_quantize_options(CLI::App& command, QuantizeArguments& arguments);
void add_training_options(CLI::App& command, QuantizeArguments& arguments);  // beside those

inline constexpr const char* kCheckpoint = ".reconstruction";  // in the output folder

struct QuantizeJob {
  JobConfig config;
  ImportOptions import;
  std::optional<QuantPlan> plan;  // of --plan
  std::string plan_file, stop_after, dump_after, device;
  std::string name;  // of the model, for file names
  ProcessPlace place;
  bool deploy = true, report = false, force = false, dry_run = false, time = false, skip_broken = false, resume = false;
  std::optional<bool> integer;
  std::int64_t batch = 0, profile_items = 0;
  int workers = 1;

  std::string file(const std::string& name) const;  // inside the output folder
  std::string deploy_folder() const;
  std::string training() const { return file("training"); }     // checkpoints and logs of training
  std::string checkpoint() const { return file(kCheckpoint); }  // finished units, until the job is done
  bool deploy_configured() const;                               // the user configured it: then it must succeed
  std::string deploy_name() const { return config.deploy.name.empty() ? name : config.deploy.name; }
  std::string model_file() const { return file(name + kCalibratedEnding); }
};

// Throws if it cannot work: no platform, stages that are not built, an output that cannot be written ...
QuantizeJob job_of(const QuantizeArguments& arguments);
// Throws if there are results, or the beginning of some, in the output folder that nobody said to replace or to
// continue.
void check_earlier_results(const QuantizeJob& job);

// All of `quench quantize` and `quench train`: quantizes or trains, deploys, writes and prints.
void run_quantizing(const QuantizeArguments& arguments, const CommandLine& command_line);

}  // namespace quench
