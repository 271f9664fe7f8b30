// The fake-quantized network with autograd: QatModule, whose tensors Python registers as its own.
#include "bindings.h"
#include "quench/qat.h"

namespace quench::python {
namespace {

using Released = py::call_guard<py::gil_scoped_release>;
using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

// With tensors of its own: training must not change the model that it began with.
std::shared_ptr<QatModule> module_of(const QuantizedModel& model) {
  return std::make_shared<QatModule>(QuantizedModel(model.graph.clone(), model.plan, model.stage));
}

template <typename Items>
NamedTensors named(const Items& items) {
  NamedTensors all;
  for (const auto& item : items) all.emplace_back(item.key(), item.value());
  return all;
}

std::vector<at::Tensor> forward(QatModule& module, const std::vector<at::Tensor>& inputs, bool training) {
  if (module.is_training() != training) module.train(training);
  return module.forward_all(inputs);
}

}  // namespace

void bind_training(py::module_& module) {
  py::class_<QatModule, std::shared_ptr<QatModule>>(module, "QatModule")
      .def(py::init(&module_of))
      .def_property_readonly("parameters", [](const QatModule& self) { return named(self.named_parameters()); })
      .def_property_readonly("buffers", [](const QatModule& self) { return named(self.named_buffers()); })
      .def("forward", &forward, Released())
      .def("model", &QatModule::model, Released())
      .def("enable_observer", &QatModule::enable_observer)
      .def("disable_observer", &QatModule::disable_observer)
      .def("enable_fake_quant", &QatModule::enable_fake_quant)
      .def("disable_fake_quant", &QatModule::disable_fake_quant)
      .def("freeze_bn_stats", &QatModule::freeze_bn_stats)
      .def("update_bn_stats", &QatModule::update_bn_stats)
      .def("__str__", &QatModule::text);
}

}  // namespace quench::python
