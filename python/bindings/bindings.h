// What the binding files share: one file per area, and one function of each that adds its names to the module.
#pragma once

#include <ATen/ATen.h>
#include <torch/csrc/utils/pybind.h>

namespace quench::python {

namespace py = pybind11;

void bind_model(py::module_& module);
void bind_data(py::module_& module);
void bind_quantize(py::module_& module);
void bind_evaluate(py::module_& module);
void bind_training(py::module_& module);
void bind_deploy(py::module_& module);
void bind_report(py::module_& module);

}  // namespace quench::python
