// quantize(): the job as JSON in, the record as JSON out.
#include "quench/quantize.h"

#include "bindings.h"
#include "python_calls.h"
#include "quench/export.h"
#include "report/plan_json.h"
#include "report/quantize_record.h"
#include "report/result_file.h"

namespace quench::python {
namespace {

// What a job file does not hold.
struct Request {
  const Dataset *calib = nullptr, *train = nullptr, *validation = nullptr, *eval = nullptr;
  std::string plan;        // as JSON; "": the platform's own
  std::string name;        // of the model, for the record
  std::string stop_after;  // the last stage; "": all
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

}  // namespace

void bind_quantize(py::module_& module) {
  py::class_<JobConfig>(module, "Job")
      .def_property_readonly("platform", [](const JobConfig& job) { return job.quant.platform; })
      .def_readonly("model", &JobConfig::model)
      .def_readonly("input_shapes", &JobConfig::input_shapes)
      .def_readonly("samples", &JobConfig::calibration_samples)
      .def_property_readonly("calib",
                             [](const JobConfig& job) { return job.data.calib ? to_string(*job.data.calib) : ""; });
  module.def("read_job", &read_job);
  py::class_<Request>(module, "Request")
      .def(py::init<>())
      .def_readwrite("calib", &Request::calib)
      .def_readwrite("train", &Request::train)
      .def_readwrite("validation", &Request::validation)
      .def_readwrite("eval", &Request::eval)
      .def_readwrite("plan", &Request::plan)
      .def_readwrite("name", &Request::name)
      .def_readwrite("stop_after", &Request::stop_after);
  py::class_<Quantized>(module, "Quantized")
      .def_property_readonly("model", [](const Quantized& result) { return result.model; })
      .def_property_readonly("record", [](const Quantized& result) { return json_of(result.record).dump(); })
      .def_property_readonly("plan",
                             [](const Quantized& result) { return json_of(plan_of_float_model(result.record)).dump(); })
      .def_property_readonly("report", [](const Quantized& result) { return report_text(result.record); })
      .def_property_readonly("summary", [](const Quantized& result) { return summary_text(result.record); })
      .def(
          "save", [](const Quantized& result, const std::string& file) { export_onnx(result_file(result), file); },
          py::call_guard<py::gil_scoped_release>());
  module.def("quantize", &quantize_from_python);
}

}  // namespace quench::python
