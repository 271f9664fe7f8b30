// The program, quantize() and its stages one by one give the same model, to the bit, on every platform.
#include "cli/demo.h"
#include "platforms/gated_graph.h"
#include "quench/calibrate.h"
#include "quench/export.h"
#include "quench/import.h"
#include "quench/pass.h"
#include "quench/platform.h"
#include "quench/prepare.h"
#include "quench/ptq.h"
#include "quench/quantize.h"

namespace quench {
namespace {

class EveryWay : public testing::TestWithParam<std::string> {
 protected:
  EveryWay() { job_.quant = settings_for(GetParam()); }

  std::string by_program() const {
    const TemporaryFolder folder;
    std::ofstream(folder.path("job.yaml")) << to_yaml(job_);
    const Outcome outcome = quench_run({"quantize", demo_model(), "--config", folder.path("job.yaml"), "--calib",
                                        demo_data(0, 32), "-o", folder.path("out"), "--profile", "0", "--no-deploy"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return text_of(import_model(folder.path("out/fashion_cnn.quench.onnx")));
  }

  std::string by_call() const { return text_of(quantize(demo_model(), *data_, job_).model); }

  std::string by_stages() const {
    const JobConfig job = with_platform_defaults(job_);
    Graph graph = import_model(demo_model());
    run_passes(graph, cleanup_passes());
    fuse_for_quantizing(graph, job.quant, NormMode::kFold);
    EqualizeOptions equalizing;
    equalizing.data = data_.get();
    if (job.equalize.value_or(false)) equalize(graph, equalizing);
    QuantPlan plan = make_plan(graph, job.quant);
    if (job.smooth.value_or(false)) smooth(graph, plan, *data_);
    QuantizedModel model = insert_quantizers(graph, plan);
    calibrate(model, *data_);
    BiasCorrectionOptions correcting;
    correcting.kind = job.bias_correction.value_or(BiasCorrection::kNone);
    if (correcting.kind != BiasCorrection::kNone) correct_biases(model, *data_, correcting);
    return text_of(model);
  }

 private:
  // As in a file, plan and stage included, except for the provenance that only the program knows.
  static std::string text_of(Graph file) {
    file.metadata.erase("quench.format");
    file.metadata.erase("quench.record");
    return export_onnx_bytes(file);
  }
  static std::string text_of(const QuantizedModel& model) {
    return text_of(import_onnx_bytes(export_onnx_bytes(with_plan_text(model))));
  }

  JobConfig job_;
  std::unique_ptr<Dataset> data_ = open_dataset(demo_data(0, 32), import_model(demo_model()));
};

TEST_P(EveryWay, GivesTheSameModel) {
  const std::string call = by_call();
  EXPECT_TRUE(call == by_program()) << "the program's model is another";
  EXPECT_TRUE(call == by_stages()) << "the stages' model is another";
}

INSTANTIATE_TEST_SUITE_P(Platforms, EveryWay, testing::ValuesIn(PlatformRegistry::instance().names()),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace quench
