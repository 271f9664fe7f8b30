// Models with several inputs through every command.
#include <ATen/ATen.h>

#include "cli/demo.h"
#include "cli/program.h"
#include "data/multi_input.h"
#include "quench/export.h"
#include "quench/npz.h"
#include "verify/deployed_demo.h"

namespace quench {
namespace {

struct Three {
  explicit Three(Dim batch = Dim::symbol("N"), bool labelled = true) {
    export_onnx(three_inputs(std::move(batch)), model);
    NamedValues arrays = three_arrays(21);
    write_npz(folder.path("plain.npz"), arrays);
    if (labelled) arrays["labels"] = at::arange(21) % 4;
    write_npz(folder.path("data.npz"), arrays);
  }
  Outcome quantized(std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {"quantize", model, "--platform", "onnxruntime",
                                          "--calib",  data,  "-o",         folder.path("out")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return quench_run(arguments);
  }
  TemporaryFolder folder;
  std::string model = folder.path("three.onnx"), data = "npz:" + folder.path("data.npz") + "?shared=size";
  std::string out = folder.path("out/three.quench.onnx");
};

TEST(SeveralInputs, EveryCommandTakesThem) {
  const Three three;
  const Outcome run =
      quench_run({"run", three.model, "--inputs", three.folder.path("plain.npz"), "-o", three.folder.path("y.npz")});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(read_npz(three.folder.path("y.npz")).at("logits").tensor().size(0), 21);
  const Outcome eval = quench_run({"eval", three.model, "--data", three.data, "--batch", "8", "--json"});
  ASSERT_EQ(eval.code, 0) << eval.err;
  EXPECT_EQ(eval.json().at("items"), 21);
  const Outcome dry =
      quench_run({"quantize", three.model, "--platform", "onnxruntime", "--calib", three.data, "--dry-run"});
  EXPECT_EQ(dry.code, 0) << dry.err;
  const Outcome quantized = three.quantized({"--eval", three.data, "--equalize", "--bias-correction", "fast"});
  ASSERT_EQ(quantized.code, 0) << quantized.err;
  EXPECT_NE(quantized.out.find("quantized   top-1"), std::string::npos) << quantized.out;
  const Outcome again = quench_run({"eval", three.out, "--data", three.data, "--json"});
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_GE(again.json().at("correct").get<int>(), eval.json().at("correct").get<int>() - 1);
  const Outcome profiled = quench_run({"profile", three.out, "--data", three.data});
  EXPECT_EQ(profiled.code, 0) << profiled.err;
}

TEST(SeveralInputs, AFixedBatchIsFilledUp) {
  const Three three(4);
  const Outcome outcome = three.quantized({"--eval", three.data, "--bias-correction", "none"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(quench_run({"eval", three.out, "--data", three.data, "--json"}).json().at("batch"), 4);
}

TEST(SeveralInputs, WhatLacksAnInputSaysWhich) {
  const Three three;
  write_npz(three.folder.path("part.npz"),
            {{"x", three_arrays(4).at("x")}, {"size", three_arrays(4).at("size")}, {"labels", at::arange(4)}});
  const std::string part = "npz:" + three.folder.path("part.npz") + "?shared=size";
  expect_refused(quench_run({"eval", three.model, "--data", part}),
                 "the model's input 'mask' (int64[N, 6]) has no data");
  expect_refused(quench_run({"quantize", three.model, "--platform", "onnxruntime", "--calib", part, "--dry-run"}),
                 "the model's input 'mask' (int64[N, 6]) has no data");
  expect_refused(quench_run({"quantize", three.model, "--platform", "onnxruntime", "--calib", part, "-o",
                             three.folder.path("none")}),
                 "the model's input 'mask' (int64[N, 6]) has no data");
}

TEST(SeveralInputs, ADeployedFileIsVerifiedOnThem) {
  std::string why;
  if (runtime_python("onnxruntime", why).empty()) GTEST_SKIP() << why;
  for (const bool fixed : {false, true}) {
    const Three three(fixed ? Dim(4) : Dim::symbol("N"));
    ASSERT_EQ(three.quantized({"--profile", "0"}).code, 0);
    const Outcome outcome = quench_run({"verify", three.folder.path("out/deploy"), "--data", three.data, "--json"});
    EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    EXPECT_EQ(outcome.json().at("items"), 21);
  }
}

TEST(SeveralInputs, StateIsFedBack) {
  const TemporaryFolder folder;
  export_onnx(recurrent(), folder.path("cell.onnx"));
  const at::Tensor x = (at::arange(24, at::kFloat).reshape({12, 2}) % 7 - 3) / 4;
  write_npz(folder.path("x.npz"), {{"x", x}, {"labels", at::arange(12) % 4}});
  const std::string data = "npz:" + folder.path("x.npz") + "?feedback=h_in:h_out";
  const Outcome eval = quench_run({"eval", folder.path("cell.onnx"), "--data", data});
  EXPECT_EQ(eval.code, 0) << eval.err;
  const Outcome quantized = quench_run({"quantize", folder.path("cell.onnx"), "--platform", "onnxruntime", "--calib",
                                        data, "--eval", data, "-o", folder.path("out")});
  EXPECT_EQ(quantized.code, 0) << quantized.err;
  expect_refused(quench_run({"eval", folder.path("cell.onnx"), "--data", "npz:" + folder.path("x.npz")}),
                 "the model's input 'h_in' (float[N, 3]) has no data");
}

// Once a bug: data without labels was refused.
TEST(WithoutLabels, AgreementWithFloatIsReported) {
  const Three three(Dim::symbol("N"), false);
  const Outcome quantized = three.quantized({"--eval", three.data});
  ASSERT_EQ(quantized.code, 0) << quantized.err;
  EXPECT_NE(quantized.out.find("agreement   the same top-1 as in float"), std::string::npos) << quantized.out;
  const nlohmann::json record = nlohmann::json::parse(read_text(three.folder.path("out/record.json")));
  EXPECT_EQ(record.at("agreement").at("items"), 21);
  const Outcome eval = quench_run({"eval", three.out, "--data", three.data, "--json"});
  ASSERT_EQ(eval.code, 0) << eval.err;
  EXPECT_EQ(eval.json().at("agreement").at("items"), 21);
  EXPECT_GE(eval.json().at("agreement").at("equal").get<int>(), 19);
  expect_refused(quench_run({"eval", three.model, "--data", three.data}), "the data has no labels");
  EXPECT_EQ(quench_run({"eval", three.model, "--data", three.data, "--predictions", three.folder.path("p.tsv")}).code,
            0);
}

}  // namespace
}  // namespace quench
