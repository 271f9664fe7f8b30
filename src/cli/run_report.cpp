#include "cli/run_report.h"

#include <algorithm>
#include <filesystem>

#include "core/atomic_file.h"
#include "quench/html_report.h"

namespace quench {

void write_run_report(const QuantizeJob& job, const OutputFolder& folder, const QuantizedModel& model,
                      const Dataset* calib) {
  if (calib && model.stage >= ModelStage::kCalibrated) {
    HistogramOptions options;
    options.workers = job.workers;
    options.skip_broken = job.skip_broken;
    options.device = job.device;
    write_file_atomically(folder.staged(kHistogramsFile), histograms_text(activation_histograms(model, *calib, options),
                                                                          std::min(options.items, calib->size())));
  }
  ReportRun run;
  run.folder = std::filesystem::path(folder.staged("record.json")).parent_path().string();
  run.name = std::filesystem::weakly_canonical(job.config.output).filename().string();
  run.training = job.training();
  write_html_report({run}, folder.staged(kReportFile));
}

}  // namespace quench
