#include "cli/program.h"

namespace quench {
namespace {

TEST(Info, SaysWhatThereIs) {
  const Outcome text = quench_run({"info"});
  EXPECT_EQ(text.code, 0) << text.err;
  for (const char* row : {"quench", "LibTorch", "threads", "engines", "instruction sets", "CUDA"})
    EXPECT_NE(text.out.find(row), std::string::npos) << row;
  const nlohmann::json json = quench_run({"info", "--json", "--threads", "1"}).json();
  EXPECT_EQ(json.at("version"), QUENCH_VERSION);
  EXPECT_EQ(json.at("threads"), 1);
  EXPECT_TRUE(json.at("engines").is_array());
  EXPECT_EQ(json.at("amx_hidden").get<bool>(), !json.at("cpu_note").get<std::string>().empty());
}

// libgomp reads it when it is loaded: it must be set before main. What the user has set is kept.
TEST(Info, ThreadsSleepAtBarriersUnlessTheUserSaysOtherwise) {
  ::unsetenv("OMP_WAIT_POLICY");
  ::unsetenv("GOMP_SPINCOUNT");
  EXPECT_EQ(quench_run({"info", "--json"}).json().at("waiting"), "GOMP_SPINCOUNT=1000");
  ::setenv("GOMP_SPINCOUNT", "77", 1);
  EXPECT_EQ(quench_run({"info", "--json"}).json().at("waiting"), "GOMP_SPINCOUNT=77");
  ::unsetenv("GOMP_SPINCOUNT");
  ::setenv("OMP_WAIT_POLICY", "active", 1);
  EXPECT_EQ(quench_run({"info", "--json"}).json().at("waiting"), "OMP_WAIT_POLICY=active");
  ::unsetenv("OMP_WAIT_POLICY");
}

TEST(List, NamesEveryKindOfThing) {
  const nlohmann::json all = quench_run({"list", "--json"}).json();
  EXPECT_TRUE(all.at("ops").contains("Relu"));
  EXPECT_TRUE(all.at("passes").contains("infer_shapes"));
  EXPECT_TRUE(all.at("observers").contains("min_max"));
  EXPECT_TRUE(all.contains("fake-quantizers"));
  EXPECT_TRUE(all.at("platforms").contains("tensorrt"));
  EXPECT_TRUE(all.at("data").contains("cifar10"));
  EXPECT_TRUE(all.at("zoo").contains("resnet18"));
  const nlohmann::json passes = quench_run({"list", "passes", "--json"}).json();
  EXPECT_EQ(passes.size(), 1U);
  EXPECT_NE(quench_run({"list", "passes"}).out.find("infer_shapes"), std::string::npos);
  std::string names;
  for (const auto& [name, summary] : passes.at("passes").items()) names += name + "\n";
  EXPECT_EQ(quench_run({"list", "passes", "--plain"}).out, names);
}

TEST(List, EveryThingHasASummary) {
  const nlohmann::json all = quench_run({"list", "--json"}).json();
  for (const auto& [kind, items] : all.items())
    for (const auto& [name, summary] : items.items()) EXPECT_NE(summary.get<std::string>(), "") << kind << name;
}

TEST(List, TheReferencePageIsCurrent) {
  const std::string page =
      (std::filesystem::path(std::getenv("QUENCH_TEST_DATA")) / "../../docs/reference.md").lexically_normal().string();
  EXPECT_EQ(read_text(page), quench_run({"list", "--markdown"}).out)
      << "run: build/release/quench list --markdown > docs/reference.md";
}

}  // namespace
}  // namespace quench
