// evaluate(), by metrics of the library and by functions of the user's own.
#include "quench/evaluate.h"

#include <ATen/ATen.h>

#include "bindings.h"
#include "python_calls.h"
#include "quench/quantized_model.h"
#include "report/eval_text.h"
#include "values.h"

namespace quench::python {
namespace {

// The functions of the evaluation that is running on this thread; metrics name them by number.
struct Functions {
  std::vector<py::function> all;
  PythonCalls* calls = nullptr;
  bool is_labelled = false;
};
thread_local const Functions* running = nullptr;

// function(outputs, target) -> a number for one item; the value is their mean.
class PythonMetric : public RatioMetric {
 public:
  explicit PythonMetric(const Options& options) : functions_(running) {
    QUENCH_CHECK(functions_, "the metric 'python' is a function of a Python program: it has no other use");
    function_ = &functions_->all.at(static_cast<std::size_t>(options.number("function")));
  }
  MetricNeed need() const override { return functions_->is_labelled ? MetricNeed::kLabels : MetricNeed::kTargets; }
  ItemStatistic measure(const MetricItem& item) const override {
    return functions_->calls->call([&]() -> ItemStatistic {
      const at::Tensor& output = item.outputs.at("").tensor();
      return {(*function_)(output, target_of_item(item)).cast<double>(), 1.0};
    });
  }

 private:
  py::object target_of_item(const MetricItem& item) const {
    if (functions_->is_labelled) return py::int_(item.label);
    if (item.targets.size() == 1) return py::cast(item.targets.begin()->second.tensor());
    return py::cast(tensors_of(item.targets));
  }

  const Functions* functions_;
  const py::function* function_;
};
QUENCH_REGISTER_METRIC("python", PythonMetric, "a function of a Python program", "", MetricBetter::kHigher,
                       {"function", 0.0, "its number"})

std::string evaluate_from_python(const Graph& graph, const Dataset& data, const std::vector<std::string>& metrics,
                                 const std::vector<py::function>& functions, const py::object& progress) {
  PythonCalls calls;
  const Functions own{functions, &calls, data.task() == Task::kClassify};
  EvalOptions options;
  options.optimize = true;
  options.metrics = metrics;
  const auto show = calls.progress(progress);
  options.progress = [&](std::int64_t done, std::int64_t total) { show("evaluating", done, total); };
  return calls.run([&] {
    const Graph reference = quantizers_of(graph).empty() ? Graph() : without_quantizers(graph);
    if (!quantizers_of(graph).empty()) options.reference = &reference;
    running = &own;
    const std::shared_ptr<void> after(nullptr, [](void*) { running = nullptr; });
    return json_of(evaluate(graph, data, options)).dump();
  });
}

}  // namespace

void bind_evaluate(py::module_& module) { module.def("evaluate", &evaluate_from_python); }

}  // namespace quench::python
