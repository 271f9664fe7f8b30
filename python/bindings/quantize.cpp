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

struct Sets {
  const Dataset *calib = nullptr, *train = nullptr, *validation = nullptr, *eval = nullptr;
};

JobConfig read_job(const std::string& file, const std::string& json, const std::vector<std::string>& overrides) {
  JobConfig job = file.empty() ? config_from_text(json, overrides, "the arguments") : read_config(file, overrides);
  refuse_unbuilt(job, JobStage::kQuantize);
  if (job.train) refuse_unbuilt(job, JobStage::kTrain);
  return job;
}

Quantized quantize_from_python(const Graph& graph, const Sets& sets, const JobConfig& job, const std::string& plan,
                               const std::string& name, const py::object& progress) {
  PythonCalls calls;
  QuantizeData data;
  data.calib = sets.calib;
  data.train = sets.train;
  data.validation = sets.validation;
  data.eval = sets.eval;
  QuantizeOptions options;
  options.progress = calls.progress(progress);
  return calls.run([&] {
    if (!plan.empty()) {
      options.plan = plan_from_yaml(plan, "of the arguments");
      options.plan_name = "of the arguments";
    }
    Quantized result = quantize(graph, data, job, options);
    result.record.model = name;
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
  py::class_<Sets>(module, "Sets")
      .def(py::init<>())
      .def_readwrite("calib", &Sets::calib)
      .def_readwrite("train", &Sets::train)
      .def_readwrite("validation", &Sets::validation)
      .def_readwrite("eval", &Sets::eval);
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
