#include "cli/demo.h"

namespace quench {
namespace {

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
