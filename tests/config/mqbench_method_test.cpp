// `quench.method` and overrides of `method` over MQBench's reconstruction, and where a layout has none.
#include <algorithm>

#include "config/jobs.h"
#include "quench/error.h"
#include "quench/ptq_method.h"

namespace quench {
namespace {

constexpr const char* kQdrop = R"(
quantize:
  quantize_type: advanced_ptq
  backend: tensorrt
  reconstruction: {pattern: block, prob: 0.5, max_count: 60, warm_up: 0.3, round_mode: learned_hard_sigmoid}
)";
constexpr const char* kMmrazor =
    "model: {type: MMArchitectureQuant, quantizer: {type: OpenVINOQuantizer, "
    "global_qconfig: {w_observer: {type: PerChannelMinMaxObserver}, "
    "a_observer: {type: MovingAverageMinMaxObserver}, "
    "w_fake_quant: {type: FakeQuantize}, a_fake_quant: {type: FakeQuantize}, "
    "w_qscheme: {qdtype: qint8, bit: 8, is_symmetry: true}, "
    "a_qscheme: {qdtype: quint8, bit: 8, is_symmetry: true}}}}";

std::string note_of(const JobConfig& job) {
  const auto found = std::find_if(job.notes.begin(), job.notes.end(),
                                  [](const std::string& one) { return one.starts_with("'quantize.reconstruction'"); });
  return found == job.notes.end() ? "" : *found;
}

TEST(MqbenchMethod, OptionsGoOverThoseOfTheReconstruction) {
  for (const std::string path : {"method.max_count=5", "quench.method.max_count=5", "method={max_count: 5}"}) {
    const JobConfig job = job_of(kQdrop, {path});
    EXPECT_EQ(job.method.name, "qdrop") << path;
    EXPECT_EQ(job.method.options.number("max_count"), 5) << path;
    EXPECT_EQ(job.method.options.number("warm_up"), 0.3) << path;
    EXPECT_EQ(job.method.options.number("prob"), 0.5) << path;
    EXPECT_EQ(job.method.options.number("scale_lr"), 0) << path;
    EXPECT_EQ(note_of(job), "");
    expect_same_again(job);
  }
}

TEST(MqbenchMethod, ScalesLearnIfTheirRateIsGiven) {
  EXPECT_EQ(job_of(kQdrop, {}).method.options.number("scale_lr"), 0);
  const std::string with_rate = "quantize.reconstruction.scale_lr=0.001";
  EXPECT_EQ(job_of(kQdrop, {with_rate}).method.options.number("scale_lr"), 0.001);
  EXPECT_EQ(job_of(kQdrop, {with_rate, "method.max_count=5"}).method.options.number("scale_lr"), 0.001);
  EXPECT_EQ(job_of(kQdrop, {"method.scale_lr=0.002"}).method.options.number("scale_lr"), 0.002);
  EXPECT_EQ(job_of(kQdrop, {"method.name=brecq"}).method.options.number("scale_lr"), 4e-5);
  EXPECT_EQ(job_of(kQdrop, {"method.name=qdrop"}).method.options.number("scale_lr"), 0);
}

// They are parameters of all fake quantizers but the fixed one; AdaRound is what leaves them alone.
TEST(MqbenchMethod, ScalesLearnIfTheFakeQuantizerLetsThem) {
  const auto with = [](const std::string& fake_quant, const std::string& pattern, double prob) {
    return job_of(concat("extra_prepare_dict: {extra_qconfig_dict: {a_fakequantize: ", fake_quant, "}}\n",
                         "quantize: {quantize_type: advanced_ptq, reconstruction: {pattern: ", pattern,
                         ", prob: ", prob, ", scale_lr: 0.001}}\n"),
                  {});
  };
  const JobConfig layers = with("QDropFakeQuantize", "layer", 1);
  EXPECT_EQ(layers.method.name, "brecq");
  EXPECT_EQ(layers.method.options.word("pattern"), "layer");
  EXPECT_EQ(layers.method.options.number("scale_lr"), 0.001);
  EXPECT_EQ(with("FixedFakeQuantize", "layer", 1).method.name, "adaround");
  const JobConfig fixed = with("FixedFakeQuantize", "block", 0.5);
  EXPECT_EQ(fixed.method.name, "qdrop");
  EXPECT_EQ(fixed.method.options.number("scale_lr"), 0);
  EXPECT_EQ(std::count(fixed.notes.begin(), fixed.notes.end(),
                       "'scale_lr' has no effect with FixedFakeQuantize, whose scales do not learn"),
            1);
  const std::string text =
      "extra_prepare_dict: {extra_qconfig_dict: {a_fakequantize: FixedFakeQuantize}}\n"
      "quantize: {quantize_type: advanced_ptq, reconstruction: {pattern: block, prob: 0.5, scale_lr: 0.001}}\n";
  EXPECT_EQ(job_of(text, {"method.name=qdrop"}).method.options.number("scale_lr"), 0);
}

TEST(MqbenchMethod, AnotherMethodTakesTheOptionsOverThatDoNotMakeItTheOldOne) {
  const JobConfig brecq = job_of(kQdrop, {"method.name=brecq"});
  EXPECT_EQ(brecq.method.name, "brecq");
  EXPECT_EQ(brecq.method.options.number("max_count"), 60);
  EXPECT_EQ(brecq.method.options.number("warm_up"), 0.3);
  EXPECT_EQ(brecq.method.options.number("prob"), 1);
  EXPECT_EQ(note_of(brecq),
            "'quantize.reconstruction' is for qdrop, and the method is brecq: 'prob' there has no effect");
  const JobConfig adaround = job_of(kQdrop, {"method.name=adaround"});
  EXPECT_EQ(adaround.method.options.word("pattern"), "layer");
  EXPECT_EQ(
      note_of(adaround),
      "'quantize.reconstruction' is for qdrop, and the method is adaround: 'pattern', 'prob' there have no effect");
  const JobConfig blockwise = job_of(kQdrop, {"method.name=blockwise"});
  EXPECT_EQ(blockwise.method.options.word("round_mode"), "straight_through");
  EXPECT_EQ(note_of(blockwise),
            "'quantize.reconstruction' is for qdrop, and the method is blockwise: 'round_mode' there has no effect");
  EXPECT_EQ(job_of(kQdrop, {"method={name: brecq, prob: 0.25}"}).method.options.number("prob"), 0.25);
  EXPECT_EQ(note_of(job_of(kQdrop, {"method.name=qdrop"})), "");
}

void learn_nothing(UnitWork&, UnitRecord&) {}
QUENCH_REGISTER_PTQ_METHOD("test_few_options", learn_nothing, "for this test", {{"warm_up", 0.0, "of its own"}},
                           "layer")

TEST(MqbenchMethod, WhatAnotherMethodDoesNotKnowIsNamed) {
  const JobConfig job = job_of(kQdrop, {"method.name=test_few_options"});
  EXPECT_EQ(job.method.options.number("warm_up"), 0.3);
  EXPECT_EQ(note_of(job),
            "'quantize.reconstruction' is for qdrop, and the method is test_few_options: 'pattern', 'prob', "
            "'max_count', 'round_mode' there have no effect");
}

TEST(MqbenchMethod, MayBeNamedWhereTheLayoutHasNone) {
  for (const std::string text : {"extra_quantizer_dict: {}", "quantize: {quantize_type: naive_ptq}", kMmrazor}) {
    const JobConfig job = job_of(text, {"method={name: qdrop}", "method.max_count=3"});
    EXPECT_EQ(job.method.name, "qdrop") << text;
    EXPECT_EQ(job.method.options.number("max_count"), 3) << text;
    EXPECT_EQ(job.method.options.number("prob"), 0.5) << text;
    EXPECT_CONTAINS(refused(text, {"method.max_count=3"}), "'quench.method.name' is missing");
  }
}

TEST(MqbenchMethod, IsCheckedAsEverywhere) {
  EXPECT_CONTAINS(refused(kQdrop, {"method.max_cnt=3"}), "did you mean 'max_count'");
  EXPECT_CONTAINS(refused(kQdrop, {"method.name=qdrob"}), "did you mean 'qdrop'");
  EXPECT_CONTAINS(refused(std::string(kQdrop) + "method: {name: brecq}"), "unknown key 'method'");
}

}  // namespace
}  // namespace quench
