// Every case of ONNX's conformance suites. tests/data/conformance_*.txt list what is not supported, each with
// its reason; a case that fails and is not listed fails the test, and so does a listed one that passes.
//   QUENCH_CONFORMANCE_FOLDER=DIR e2e_test --gtest_filter=Conformance.AnyFolder   runs another folder of cases
//   QUENCH_CONFORMANCE_ONLY=TEXT                                                  only cases whose name has TEXT
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>

#include "e2e/conformance_case.h"
#include "quench/error.h"

namespace quench {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// One "suite/case  reason" per line.
std::map<std::string, std::string> read_expectations(const fs::path& path) {
  std::map<std::string, std::string> result;
  std::ifstream file(path);
  QUENCH_CHECK(file, "cannot read ", path.string());
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t space = line.find(' ');
    QUENCH_CHECK(space != std::string::npos, path.string(), ": no reason in '", line, "'");
    result[line.substr(0, space)] = line.substr(space + 1);
  }
  return result;
}

struct Count {
  int passed = 0, failed = 0, unsupported = 0;
  void add(const Count& other) {
    passed += other.passed;
    failed += other.failed;
    unsupported += other.unsupported;
  }
};

std::ostream& operator<<(std::ostream& out, const Count& count) {
  return out << count.passed << " passed, " << count.failed << " failed, " << count.unsupported << " not supported";
}

struct Tally {
  std::map<std::int64_t, Count> by_opset;
  std::array<ShapeCount, kToldCount> shapes;
  Count total() const {
    Count sum;
    for (const auto& [opset, count] : by_opset) sum.add(count);
    return sum;
  }
  void add(const Tally& other) {
    for (const auto& [opset, count] : other.by_opset) by_opset[opset].add(count);
    for (std::size_t i = 0; i < shapes.size(); ++i) shapes[i].add(other.shapes[i]);
  }
};

void print(const std::string& suite, const Tally& tally) {
  for (const auto& [opset, count] : tally.by_opset)
    std::cout << suite << (opset > 0 ? concat(" opset ", opset) : " of other domains") << ": " << count << "\n";
  const std::array<const char*, kToldCount> told = {"types", "shapes", "shapes and numbers", "ranks and numbers"};
  for (std::size_t i = 0; i < told.size(); ++i)
    std::cout << suite << ", outputs inferred from the inputs' " << told[i] << ": " << tally.shapes[i].text() << "\n";
  std::cout << suite << ": " << tally.total() << "\n";
}

std::vector<fs::path> cases_in(const fs::path& folder) {
  const std::string only = variable("QUENCH_CONFORMANCE_ONLY");
  std::vector<fs::path> cases;
  for (const auto& entry : fs::directory_iterator(folder))
    if (fs::exists(entry.path() / "model.onnx") && entry.path().filename().string().find(only) != std::string::npos)
      cases.push_back(entry.path());
  std::sort(cases.begin(), cases.end());
  return cases;
}

Tally run_suite(const fs::path& folder, const std::string& suite, const std::map<std::string, std::string>& listed) {
  Tally tally;
  for (const fs::path& path : cases_in(folder)) {
    const std::string name = suite.substr(suite.rfind(' ') + 1) + "/" + path.filename().string();
    const CaseResult result = run_conformance_case(path.string());
    Count& count = tally.by_opset[result.opset];
    const bool is_listed = listed.contains(name), passes = result.failure.empty();
    if (passes == is_listed) {
      ++count.failed;
      ADD_FAILURE() << name << " "
                    << (is_listed ? concat("passes now: take it off the list (", listed.at(name), ")")
                                  : result.failure);
    } else {
      ++(passes ? count.passed : count.unsupported);
    }
    if (passes)
      for (std::size_t i = 0; i < result.shapes.size(); ++i) tally.shapes[i].add(result.shapes[i]);
  }
  print(suite, tally);
  return tally;
}

// Of all suites that this process ran.
Tally& grand_total() {
  static Tally total;
  return total;
}

fs::path test_data() { return variable("QUENCH_TEST_DATA"); }

fs::path shared_data() {
  const std::string given = variable("QUENCH_DATA");
  return given.empty() ? test_data() / ".." / ".." / ".." / "shared" / "data" : fs::path(given);
}

TEST(Conformance, DebianSuites) {
  const fs::path root = "/usr/share/libonnx-testdata/data";
  if (!fs::exists(root)) GTEST_SKIP() << "the package libonnx-testdata is not installed (" << root << " is missing)";
  const auto listed = read_expectations(test_data() / "conformance_debian.txt");
  Tally all;
  for (const char* suite : {"simple", "pytorch-operator", "pytorch-converted", "node"}) {
    const Tally tally = run_suite(root / suite, concat("Debian ", suite), listed);
    EXPECT_GT(tally.total().passed, 0) << suite;
    all.add(tally);
  }
  print("Debian", all);
  grand_total().add(all);
}

TEST(Conformance, NodeTestsOfOnnx123) {
  const fs::path archive = shared_data() / "conformance" / "node_tests_onnx_1.23dev.tar.gz";
  if (!fs::exists(archive)) GTEST_SKIP() << archive << " is missing; QUENCH_DATA names its folder's parent";
  const fs::path folder = fs::temp_directory_path() / concat("quench-conformance-", ::getpid());
  fs::create_directories(folder);
  const std::string command = concat("tar xzf '", archive.string(), "' -C '", folder.string(), "'");
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  const auto listed = read_expectations(test_data() / "conformance_onnx_1.23dev.txt");
  const Tally tally = run_suite(folder / "onnx/backend/test/data/node", "ONNX 1.23dev node", listed);
  fs::remove_all(folder);
  EXPECT_GT(tally.total().passed, 0);
  grand_total().add(tally);
  print("all suites", grand_total());
}

TEST(Conformance, AnyFolder) {
  const fs::path folder = variable("QUENCH_CONFORMANCE_FOLDER");
  if (folder.empty()) GTEST_SKIP() << "QUENCH_CONFORMANCE_FOLDER names no folder of cases";
  run_suite(folder, folder.filename().string(), {});
}

}  // namespace
}  // namespace quench
