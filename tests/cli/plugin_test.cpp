#include "cli/demo.h"

namespace quench {
namespace {

namespace fs = std::filesystem;

std::string plugin(const std::string& name) {
  return (std::filesystem::path(program_path()).parent_path() / name).string();
}

TEST(PlugInOfACommand, AddsNamesToTheList) {
  EXPECT_FALSE(quench_run({"list", "observers", "--json"}).json().at("observers").contains("abs_max"));
  const Outcome before = quench_run({"--plugin", plugin("test_plugin.so"), "list", "--json"});
  ASSERT_EQ(before.code, 0) << before.err;
  EXPECT_EQ(before.json().at("observers").at("abs_max"), "greatest magnitude, for both ends [test_plugin.so]");
  EXPECT_TRUE(before.json().at("platforms").contains("toy_chip"));
  const Outcome both_sides =
      quench_run({"--plugin", plugin("test_plugin.so"), "list", "--plugin", plugin("clashing_plugin.so")});
  expect_refused(both_sides, "the observer 'min_max' exists already");
}

TEST(PlugInOfACommand, ThatCannotBeLoadedIsAnError) {
  expect_refused(quench_run({"info", "--plugin", "/no/such.so"}), "'/no/such.so' does not exist");
  expect_refused(quench_run({"info", "--plugin", demo_model()}), "is not a shared library");
}

TEST(PlugInOfACommand, GivesAPlatformAndItsObserver) {
  const TemporaryFolder folder;
  const std::vector<std::string> job = {"quantize",       demo_model(), "--platform", "toy_chip", "--calib",
                                        demo_data(0, 16), "--profile",  "0",          "-o",       folder.path("out")};
  expect_refused(quench_run(job), "unknown platform 'toy_chip'");
  std::vector<std::string> with_plugin = job;
  with_plugin.insert(with_plugin.end(), {"--plugin", plugin("test_plugin.so")});
  const Outcome done = quench_run(with_plugin);
  ASSERT_EQ(done.code, 0) << done.err;
  const std::string plan = read_text(folder.path("out/plan.yaml"));
  EXPECT_NE(plan.find("abs_max"), std::string::npos);
  EXPECT_NE(plan.find("input of Relu"), std::string::npos);
  const auto record = nlohmann::json::parse(read_text(folder.path("out/record.json")));
  EXPECT_NE(record.at("config").get<std::string>().find("test_plugin.so"), std::string::npos);
}

TEST(PlugInOfACommand, GivesAReconstructionMethodWithItsOptions) {
  const TemporaryFolder folder;
  const std::vector<std::string> job = {
      "quantize",      demo_model(), "--platform",     "onnxruntime", "--method", "coarse", "--calib",
      demo_data(0, 8), "--set",      "method.step=16", "--profile",   "0",        "-o",     folder.path("out")};
  expect_refused(quench_run(job), "unknown reconstruction method 'coarse'");
  const auto with_plugin = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = job;
    arguments.insert(arguments.end(), {"--plugin", plugin("test_plugin.so")});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return quench_run(arguments);
  };
  expect_refused(with_plugin({"--set", "method.steps=3"}), "did you mean 'step'");
  const Outcome done = with_plugin({"--json"});
  ASSERT_EQ(done.code, 0) << done.err;
  const nlohmann::json record = done.json().at("reconstruction");
  EXPECT_EQ(record.at("method"), "coarse");
  EXPECT_EQ(record.at("options").at("step"), 16);
  EXPECT_EQ(record.at("options").at("pattern"), "layer");
  EXPECT_EQ(record.at("units").at(0).at("note"), "coarse");
  EXPECT_GT(record.at("units").at(0).at("error_after"), record.at("units").at(0).at("error_before"));
  const nlohmann::json methods =
      quench_run({"--plugin", plugin("test_plugin.so"), "list", "methods", "--json"}).json().at("methods");
  EXPECT_EQ(methods.at("coarse"), "of a test: one code in a few [test_plugin.so]") << methods;
}

// It used to say that the platform is unknown, and no more.
TEST(PlugInOfACommand, IsNamedWhereAModelNeedsIt) {
  const TemporaryFolder folder;
  const Outcome made = quench_run({"quantize", demo_model(), "--platform", "toy_chip", "--calib", demo_data(0, 8),
                                   "--profile", "0", "-o", folder.path("out"), "--plugin", plugin("test_plugin.so")});
  ASSERT_EQ(made.code, 0) << made.err;
  const std::string model = folder.path("out/fashion_cnn.quench.onnx");
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"deploy", model, "-o", folder.path("files")},
                                             {"convert", model, "-o", folder.path("int8.onnx")},
                                             {"profile", model, "--data", demo_data(0, 4)}}) {
    const Outcome refused = quench_run(command);
    expect_refused(refused, "unknown platform 'toy_chip'");
    expect_refused(refused, "the model was made with the plug-in test_plugin.so (quench " QUENCH_VERSION
                            "), not loaded here: load it first (--plugin FILE)");
  }
  const Outcome deployed =
      quench_run({"deploy", model, "-o", folder.path("files"), "--plugin", plugin("test_plugin.so")});
  EXPECT_EQ(deployed.code, 0) << deployed.err;
  EXPECT_EQ(read_text(folder.path("files/fashion_cnn_qdq.onnx")).find("test_plugin.so"), std::string::npos);
  EXPECT_EQ(read_text(folder.path("files/fashion_cnn_qdq.onnx")),
            read_text(folder.path("out/deploy/fashion_cnn_qdq.onnx")));
  const Outcome by_plan = quench_run({"quantize", demo_model(), "--plan", folder.path("out/plan.yaml"), "--calib",
                                      demo_data(0, 8), "-o", folder.path("again")});
  expect_refused(by_plan, "out/plan.yaml; if the name is a plug-in's, load that: --plugin FILE");
}

TEST(PlugInOfAConfig, LiesBesideTheFileThatNamesIt) {
  const TemporaryFolder folder;
  const fs::path linked = fs::path(folder.path("parts")) / "mine.so";
  fs::create_directories(linked.parent_path());
  fs::create_symlink(plugin("test_plugin.so"), linked);
  std::ofstream(folder.path("parts/base.yaml")) << "plugins: mine.so\n";
  std::ofstream(folder.path("job.yaml")) << "_base_: parts/base.yaml\nplatform: toy_chip\n";
  const Outcome planned =
      quench_run({"plan", demo_model(), "--config", folder.path("job.yaml"), "-o", folder.path("plan.yaml")});
  EXPECT_EQ(planned.code, 0) << planned.err;
  std::ofstream(folder.path("bad.yaml")) << "version: 1\nplugins: [mine.so]\nplatform: toy_chip\n";
  expect_refused(quench_run({"plan", demo_model(), "--config", folder.path("bad.yaml")}),
                 "'" + folder.path("mine.so") + "' does not exist");
  // An override is the command line's: relative to the working folder.
  expect_refused(quench_run({"plan", demo_model(), "--config", folder.path("bad.yaml"), "--set", "plugins=[mine.so]"}),
                 "'mine.so' does not exist");
}

TEST(PlugInOfAConfig, IsLoadedBeforeItsNamesAreLookedUp) {
  const TemporaryFolder folder;
  std::ofstream(folder.path("job.yaml")) << "plugins: [" << plugin("test_plugin.so") << "]\nplatform: toy_chip\n"
                                         << "defaults: {weight: {observer: abs_max}}\n";
  const Outcome planned =
      quench_run({"plan", demo_model(), "--config", folder.path("job.yaml"), "-o", folder.path("plan.yaml")});
  ASSERT_EQ(planned.code, 0) << planned.err;
  EXPECT_NE(read_text(folder.path("plan.yaml")).find("toy_chip"), std::string::npos);
  std::ofstream(folder.path("bad.yaml")) << "version: 1\nplugins: /no/such.so\nplatform: toy_chip\n";
  const Outcome refused = quench_run({"plan", demo_model(), "--config", folder.path("bad.yaml")});
  expect_refused(refused, "'/no/such.so' does not exist");
  expect_refused(refused, "at line 2 of");
}

}  // namespace
}  // namespace quench
