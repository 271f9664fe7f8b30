// quench._C: the module, its exceptions and versions.
#include "bindings.h"
#include "core/exit_code.h"
#include "quench/error.h"
#include "quench/plugin.h"

namespace quench::python {
namespace {

void bind_errors(py::module_& module) {
  py::register_exception<Error>(module, "Error", PyExc_RuntimeError);
  static const py::object internal = py::exception<InternalError>(module, "InternalError", PyExc_RuntimeError);
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const InternalError& error) {
      PyErr_SetString(internal.ptr(), last_words(error).what());
    }
  });
}

}  // namespace

PYBIND11_MODULE(_C, module) {
  module.attr("version") = QUENCH_VERSION;
  bind_errors(module);
  bind_model(module);
  bind_data(module);
  bind_quantize(module);
  bind_evaluate(module);
  bind_training(module);
  bind_deploy(module);
  bind_report(module);
  module.def("load_plugin", &load_plugin);
}

}  // namespace quench::python
