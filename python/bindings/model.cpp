// Float graphs, and models with quantizers.
#include "bindings.h"
#include "quench/convert.h"
#include "quench/error.h"
#include "quench/export.h"
#include "quench/open_model.h"
#include "quench/pass.h"
#include "quench/quantized_model.h"
#include "quench/rt_value.h"
#include "report/plan_json.h"

namespace quench::python {
namespace {

using Released = py::call_guard<py::gil_scoped_release>;

// As the program does it.
Graph cleaned(Graph graph, const std::string& name) {
  with_context([&] { return "while cleaning up " + name; }, [&] { run_passes(graph, cleanup_passes()); });
  return graph;
}

Graph open_file(const std::string& name, const std::vector<std::string>& shapes) {
  ImportOptions options;
  for (const std::string& shape : shapes) options.inputs.push_back(parse_input_shape(shape));
  return cleaned(open_model(name, options), name);
}

Graph open_onnx(const std::string& bytes) { return cleaned(import_onnx_bytes(bytes), "the ONNX model"); }

// Rank -1: not known.
std::vector<std::pair<std::string, std::int64_t>> inputs_of(const Graph& graph) {
  std::vector<std::pair<std::string, std::int64_t>> inputs;
  for (const Value* input : graph.inputs())
    inputs.emplace_back(input->name(), input->has_rank() ? static_cast<std::int64_t>(input->rank()) : -1);
  return inputs;
}

std::vector<at::Tensor> run(QuantizedModel& model, const std::vector<at::Tensor>& inputs) {
  std::vector<at::Tensor> outputs;
  for (const RtValue& value : model.run({inputs.begin(), inputs.end()})) outputs.push_back(value.tensor());
  return outputs;
}

QuantizedModel load(const std::string& file) { return quantized_model_of(import_model(file)); }

void save(const QuantizedModel& model, const std::string& file) { export_onnx(with_plan_text(model), file); }

}  // namespace

void bind_model(py::module_& module) {
  py::class_<Graph>(module, "Graph").def_property_readonly("inputs", &inputs_of);
  module.def("open_file", &open_file, Released());
  module.def("open_onnx", &open_onnx, Released());
  py::class_<QuantizedModel>(module, "Model")
      .def_property_readonly("inputs", [](const QuantizedModel& model) { return inputs_of(model.graph); })
      .def_property_readonly("graph", [](const QuantizedModel& model) { return model.graph; })
      .def_property_readonly("stage", [](const QuantizedModel& model) { return name_of(model.stage); })
      .def_property_readonly("plan", [](const QuantizedModel& model) { return json_of(model.plan).dump(); })
      .def("run", &run, Released())
      .def("save", &save, Released())
      .def(
          "convert",
          [](const QuantizedModel& model, const std::string& rule) { return convert(model, {.requantize = rule}); },
          Released())
      .def("text", [](const QuantizedModel& model) { return print_converted(model); });
  module.def("load", &load, Released());
}

}  // namespace quench::python
