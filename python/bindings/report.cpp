// The HTML page about a result.
#include "bindings.h"
#include "python_calls.h"
#include "quench/html_report.h"

namespace quench::python {
namespace {

// Histograms of activations need data.
std::string html_report_of(const Quantized& result, const std::string& name, const Dataset* data,
                           const py::object& progress) {
  PythonCalls calls;
  HistogramOptions options;
  const auto show = calls.progress(progress);
  options.progress = [&](std::int64_t done, std::int64_t total) { show("histograms", done, total); };
  return calls.run([&] {
    return html_report(result, name,
                       data ? activation_histograms(result.model, *data, options) : std::vector<TensorHistogram>());
  });
}

}  // namespace

void bind_report(py::module_& module) { module.def("html_report", &html_report_of); }

}  // namespace quench::python
