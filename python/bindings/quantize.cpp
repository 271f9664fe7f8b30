// quantize(): the job as JSON in, the record as JSON out.
#include "quench/quantize.h"

#include "bindings.h"
#include "data/dataset_view.h"
#include "python_calls.h"
#include "quench/export.h"
#include "quench/open_model.h"
#include "report/plan_json.h"
#include "report/quantize_record.h"
#include "report/result_file.h"

namespace quench::python {
namespace {

// What a job file does not hold.
struct Request {
  const Dataset *calib = nullptr, *train = nullptr, *validation = nullptr, *eval = nullptr;
  std::int64_t profile_items = 0;  // of calib: errors of single layers are measured on so many
  std::string plan;                // as JSON; "": the platform's own
  std::string name;                // of the model, for the record
  std::string stop_after;          // the last stage; "": all
};

JobConfig read_job(const std::string& file, const std::string& json, const std::vector<std::string>& overrides) {
  JobConfig job = file.empty() ? config_from_text(json, overrides, "the arguments") : read_config(file, overrides);
  refuse_unbuilt(job, JobStage::kQuantize);
  if (job.train) refuse_unbuilt(job, JobStage::kTrain);
  return job;
}

Quantized quantize_from_python(const Graph& graph, const Request& request, const JobConfig& job,
                               const py::object& progress) {
  PythonCalls calls;
  QuantizeData data;
  data.calib = request.calib;
  data.train = request.train;
  data.validation = request.validation;
  data.eval = request.eval;
  std::optional<FirstItems> profiled;
  if (request.calib && request.profile_items > 0)
    data.profile = &profiled.emplace(*request.calib, request.profile_items);
  QuantizeOptions options;
  options.stop_after = request.stop_after;
  options.progress = calls.progress(progress);
  return calls.run([&] {
    if (!request.plan.empty()) {
      options.plan_name = "of the arguments";
      options.plan = plan_from_yaml(request.plan, options.plan_name);
    }
    Quantized result = quantize(graph, data, job, options);
    result.record.model = request.name;
    return result;
  });
}

// The specs of its `data`, by their place in a request; of training only if it trains.
std::map<std::string, std::string> data_of(const JobConfig& job) {
  std::map<std::string, std::string> specs;
  const auto add = [&](const char* place, const std::optional<DatasetSpec>& spec) {
    if (spec) specs[place] = to_string(*spec);
  };
  add("calib", job.data.calib);
  add("eval", job.data.eval);
  if (job.train) add("train", job.data.train);
  if (job.train) add("validation", job.data.val);
  return specs;
}

// Warnings first, as in the report.
std::string summary_of(const Quantized& result) {
  std::string text;
  for (const std::string& warning : result.record.warnings) text += "WARNING     " + warning + "\n";
  return text + summary_text(result.record);
}

}  // namespace

void bind_quantize(py::module_& module) {
  py::class_<JobConfig>(module, "Job")
      .def_property_readonly("platform", [](const JobConfig& job) { return job.quant.platform; })
      .def_readonly("model", &JobConfig::model)
      .def_readonly("input_shapes", &JobConfig::input_shapes)
      .def_readonly("samples", &JobConfig::calibration_samples)
      .def_property_readonly("data", &data_of);
  module.def("read_job", &read_job);
  py::class_<Request>(module, "Request")
      .def(py::init<>())
      .def_readwrite("calib", &Request::calib)
      .def_readwrite("train", &Request::train)
      .def_readwrite("validation", &Request::validation)
      .def_readwrite("eval", &Request::eval)
      .def_readwrite("profile_items", &Request::profile_items)
      .def_readwrite("plan", &Request::plan)
      .def_readwrite("name", &Request::name)
      .def_readwrite("stop_after", &Request::stop_after);
  py::class_<Quantized>(module, "Quantized")
      .def_property_readonly("model", [](const Quantized& result) { return result.model; })
      .def_property_readonly("record", [](const Quantized& result) { return json_of(result.record).dump(); })
      .def_property_readonly("plan",
                             [](const Quantized& result) { return json_of(plan_of_float_model(result.record)).dump(); })
      .def_property_readonly("report", [](const Quantized& result) { return report_text(result.record); })
      .def_property_readonly("warnings", [](const Quantized& result) { return result.record.warnings; })
      .def_property_readonly("summary", &summary_of)
      .def(
          "save", [](const Quantized& result, const std::string& file) { export_onnx(result_file(result), file); },
          py::call_guard<py::gil_scoped_release>());
  module.def("quantize", &quantize_from_python);
  module.def("name_of_model", &name_of_model);
}

}  // namespace quench::python
