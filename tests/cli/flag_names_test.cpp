// The library names its options as C++ does; the program names its flags.
#include "cli/demo.h"

namespace quench {
namespace {

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(FlagNames, StandInErrorsAndInTheirJson) {
  const Outcome refused = quench_run({"inspect", demo_model(), "--input-shape", "1,1,28,28", "--json"});
  expect_refused(refused,
                 "the shapes of inputs (--input-shape, or 'input_shape' of a config) are for TorchScript files");
  EXPECT_SAYS(refused.json().at("error").get<std::string>(), "(--input-shape, or ");
  expect_refused(quench_run({"plan", demo_model(), "--platform", "academic"}),
                 "as in --set 'defaults.weight={bits: 8, observer: min_max, fake_quant: fixed}'");
}

TEST(FlagNames, StandInWhatQuantizeSays) {
  const TemporaryFolder folder;
  const std::string one = "{observer: min_max, fake_quant: fixed}";
  const Outcome outcome =
      quench_run({"quantize", demo_model(), "--platform", "academic", "--bits", "w2a2", "--calib", demo_data(0, 16),
                  "--set", "defaults.weight=" + one, "--set", "defaults.activation=" + one, "-o", folder.path("out")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_SAYS(outcome.err, "WARNING: the quantized model has fallen apart: ");
  EXPECT_SAYS(outcome.err, "Try balanced channels (--set equalize=true); ");
  EXPECT_SAYS(outcome.err, "learned rounding (--method blockwise)");
  EXPECT_EQ(outcome.out.find("fallen apart"), std::string::npos) << outcome.out;
  EXPECT_SAYS(outcome.out, "to ship     nothing\n");
  EXPECT_SAYS(outcome.out, "run the plan (quench deploy --platform NAME)");
  EXPECT_SAYS(read_text(folder.path("out/report.txt")), "balanced channels (--set equalize=true)");
}

}  // namespace
}  // namespace quench
