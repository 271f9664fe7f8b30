// --method and its options beside configs of other layouts.
#include <fstream>

#include "cli/method_job.h"

namespace quench {
namespace {

constexpr const char* kPrepare = R"(
extra_prepare_dict:
  extra_qconfig_dict:
    w_observer: MSEObserver
    a_observer: EMAMSEObserver
    w_fakequantize: AdaRoundFakeQuantize
    a_fakequantize: QDropFakeQuantize
    w_qscheme: {bit: 4, symmetry: false, per_channel: true, pot_scale: false}
    a_qscheme: {bit: 4, symmetry: false, per_channel: false, pot_scale: false}
)";
constexpr const char* kQuantize = R"(
quantize:
  quantize_type: advanced_ptq
  cali_batchsize: 2
  reconstruction: {pattern: block, prob: 0.5, max_count: 7, batch: 4}
data: {batch_size: 8}
)";

class MqbenchMethod : public testing::Test {
 protected:
  Outcome quantized(const std::string& config, const std::vector<std::string>& more) const {
    std::ofstream(folder_.path("mqbench.yaml")) << config;
    std::vector<std::string> arguments = {
        "quantize",          demo_model(),     "--platform", "academic", "--config",    folder_.path("mqbench.yaml"),
        "--calib",           demo_data(0, 40), "--profile",  "0",        "--no-deploy", "-o",
        folder_.path("out"), "--force",        "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return quench_run(arguments);
  }
  nlohmann::json record(const std::string& config, const std::vector<std::string>& more) const {
    const Outcome outcome = quantized(config, more);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.code == 0 ? outcome.json() : nlohmann::json();
  }
  TemporaryFolder folder_;
};

std::string with_reconstruction() { return std::string(kPrepare) + kQuantize; }

// Once it read all of the data, whatever the number of batches was.
TEST_F(MqbenchMethod, LearnsOnTheItemsOfCalibration) {
  const nlohmann::json made = record(with_reconstruction(), {});
  EXPECT_EQ(made.at("calibration").at("items"), 16);
  EXPECT_EQ(made.at("reconstruction").at("items"), 16);
  EXPECT_EQ(made.at("reconstruction").at("method"), "qdrop");
}

// Once the options of both were dropped without a word.
TEST_F(MqbenchMethod, AnotherMethodTakesItsOptions) {
  const nlohmann::json made =
      record(with_reconstruction(), {"--method", "brecq", "--set", "quantize.reconstruction.max_count=3", "--set",
                                     "method.scale_lr=0.001", "--set", "quench.method.warm_up=0.3"});
  const nlohmann::json& options = made.at("reconstruction").at("options");
  EXPECT_EQ(made.at("reconstruction").at("method"), "brecq");
  EXPECT_EQ(made.at("reconstruction").at("units").at(0).at("iterations"), 3);
  EXPECT_EQ(options.at("batch"), 4);
  EXPECT_EQ(options.at("scale_lr"), 0.001);
  EXPECT_EQ(options.at("warm_up"), 0.3);
  EXPECT_EQ(options.at("prob"), 1);
  EXPECT_NE(made.at("notes").dump().find("'prob' there has no effect"), std::string::npos) << made.at("notes");
}

TEST_F(MqbenchMethod, IsAddedToAConfigWithoutOne) {
  const nlohmann::json made = record(kPrepare, {"--method", "qdrop", "--set", "method.max_count=3"});
  EXPECT_EQ(made.at("reconstruction").at("method"), "qdrop");
  EXPECT_EQ(made.at("reconstruction").at("units").at(0).at("iterations"), 3);
}

TEST_F(MqbenchMethod, IsNamedOnce) {
  for (const std::string set : {"method.name=qdrop", "quench.method.name=qdrop", "method={name: qdrop}"})
    expect_refused(quantized(with_reconstruction(), {"--method", "brecq", "--set", set}), "omit one of them");
  expect_refused(quantized(with_reconstruction(), {"--method", "brec"}), "did you mean 'brecq'");
}

}  // namespace
}  // namespace quench
